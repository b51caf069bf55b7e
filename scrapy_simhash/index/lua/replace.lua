-- Replace a string that has only grown since it was read, if it has not.
-- KEYS: string. ARGV: its length, the new string
if redis.call('STRLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
