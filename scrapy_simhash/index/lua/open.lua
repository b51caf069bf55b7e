-- Return the header of an index; a new one gets the header given.
-- Beside the header, meta holds flushed: where the tail begins; last: the fingerprint before that;
-- head: where the log begins; swept: from where on its older parts may not be deleted yet;
-- crowded: how many entries found their bucket full.
-- ARGV: field, value, ...
-- Returns the values of these fields, then the seconds and microseconds of the clock here.
if call('EXISTS', meta) == 0 then
  call('HSET', meta, 'flushed', 0, 'last', '', 'head', 0, 'swept', 0, 'crowded', 0, unpack(ARGV))
  call('SET', tail, '')
  call('HSET', leases, NOBODY, '')
  call('HSET', waiting, NOBODY, '')
  call('ZADD', waiters, -1, NOBODY)
  call('ZADD', handed, '+inf', NOBODY)
  call('HSET', dead, 'all', 0)
  call('HSET', frozen, NOBODY, 0)
end
local values = {}
for i = 1, #ARGV, 2 do values[#values + 1] = call('HGET', meta, ARGV[i]) or '' end
local clock = redis.call('TIME')
values[#values + 1], values[#values + 2] = clock[1], clock[2]
return values
