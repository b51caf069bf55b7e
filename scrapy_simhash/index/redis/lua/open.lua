-- Return the header of an index; a new one gets the header given, and nothing of an older one.
-- KEYS: see keys.lua. ARGV: field, value, ...
-- Returns the values of these fields, then the seconds and microseconds of the clock here.
local meta, call = KEYS[1], redis.call
local _, log, rows, buckets, leases, _, _, _, runs = unpack(KEYS)
if call('EXISTS', meta) == 0 then
  call('UNLINK', unpack(KEYS))
  call('HSET', meta, 'end', 0, 'dead', 0, 'leaves', LEAST_LEAVES, unpack(ARGV))
  -- As long as a hash has this field, it was not evicted.
  for _, key in ipairs({log, rows, buckets, leases, runs}) do call('HSET', key, '!', 1) end
end
local values = {}
for i = 1, #ARGV, 2 do values[#values + 1] = call('HGET', meta, ARGV[i]) or '' end
local clock = call('TIME')
values[#values + 1], values[#values + 2] = clock[1], clock[2]
return values
