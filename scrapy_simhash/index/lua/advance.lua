-- Cut from the tail what is frozen and in its buckets, unless somebody has done so.
-- KEYS: meta, tail. ARGV: width, flushed so far, flushed now, entries that found their bucket full
local width, from, to = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if tonumber(redis.call('HGET', KEYS[1], 'flushed')) ~= from then return 0 end
local cut = (to - from) * width
redis.call('HSET', KEYS[1], 'flushed', to,
  'last', redis.call('GETRANGE', KEYS[2], cut - width, cut - 1))
redis.call('HINCRBY', KEYS[1], 'crowded', ARGV[4])
redis.call('SET', KEYS[2], redis.call('GETRANGE', KEYS[2], cut, -1))
return 1
