-- Cut the first segment from the tail, now that it is frozen and in its buckets, unless somebody
-- has done so.
-- ARGV: width, where the tail begins, now, entries that found their bucket full
local width, from = tonumber(ARGV[1]), tonumber(ARGV[2])
if tonumber(call('HGET', meta, 'flushed')) ~= from then return 0 end
local cut = SEGMENT * width
call('HSET', meta, 'flushed', from + SEGMENT, 'last', call('GETRANGE', tail, cut - width, cut - 1))
call('HINCRBY', meta, 'crowded', ARGV[4])
call('HSET', frozen, from / SEGMENT, ARGV[3])
call('SET', tail, call('GETRANGE', tail, cut, -1))
return 1
