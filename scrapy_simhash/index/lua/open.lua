-- Return the header of an index; a new one gets the header given.
-- Beside the header, meta holds flushed: where the tail begins; last: the fingerprint before that;
-- head: where the log begins; swept: from where on its older parts may not be deleted yet;
-- crowded: how many entries found their bucket full.
-- KEYS: meta. ARGV: field, value, ...
-- Returns the values of these fields.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'flushed', 0, 'last', '', 'head', 0, 'swept', 0, 'crowded', 0,
    unpack(ARGV))
end
local values = {}
for i = 1, #ARGV, 2 do values[#values + 1] = redis.call('HGET', KEYS[1], ARGV[i]) or '' end
return values
