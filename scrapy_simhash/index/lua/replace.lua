-- Replace a string, if nobody has changed it since it was read.
-- KEYS: string. ARGV: what it was, the new string
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
