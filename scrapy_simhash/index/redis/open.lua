-- Make an index, if there is none, of fields and values of its header; return the header, whether its
-- other key is of the same generation, and the time. KEYS: meta and leases, as for commit.lua.
local meta, leases = unpack(KEYS)
if redis.call('EXISTS', meta, leases) == 0 and #ARGV > 0 then
  redis.call('HSET', meta, unpack(ARGV))
  redis.call('HSET', leases, '', redis.call('HGET', meta, 'generation'))
end
local is_whole = redis.call('HGET', leases, '') == redis.call('HGET', meta, 'generation')
return {redis.call('HGETALL', meta), is_whole and 1 or 0, redis.call('TIME')}
