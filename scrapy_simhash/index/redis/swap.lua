-- Set a field of KEYS[1] to a value if it has another one now; '' is none, and a value has a byte before it.
local name, old, new = unpack(ARGV)
local now = redis.call('HGET', KEYS[1], name)
if (now and '=' .. now or '') ~= old then return 0 end
if new == '' then redis.call('HDEL', KEYS[1], name) else redis.call('HSET', KEYS[1], name, string.sub(new, 2)) end
return 1
