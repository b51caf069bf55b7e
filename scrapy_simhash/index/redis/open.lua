-- Make an index, if there is none, of fields and values of its header; return the header, and whether its
-- other keys are of the same generation. KEYS as for commit.lua.
local meta, entries, leases = unpack(KEYS)
if redis.call('EXISTS', meta, entries, leases) == 0 and #ARGV > 0 then
  redis.call('HSET', meta, unpack(ARGV))
  for _, key in ipairs({entries, leases}) do
    redis.call('HSET', key, '', redis.call('HGET', meta, 'generation'))
  end
end
local generation = redis.call('HGET', meta, 'generation')
local is_whole = true
for _, key in ipairs({entries, leases}) do
  if redis.call('HGET', key, '') ~= generation then is_whole = false end
end
return {redis.call('HGETALL', meta), is_whole and 1 or 0, redis.call('TIME')}
