-- Confirm entries whose records are written: their leases end, and the pages waiting on them go.
-- ARGV: how many, their positions, their fingerprints; an entry with another fingerprint is of a log
-- that came after.
local count, ended = tonumber(ARGV[1]), {}
local packed = call('HMGET', leases, unpack(ARGV, 2, count + 1))
for i = 1, count do
  local fingerprint = ARGV[count + 1 + i]
  if packed[i] and packed[i]:sub(-#fingerprint) == fingerprint then
    ended[#ended + 1] = ARGV[1 + i]
  end
end
if #ended == 0 then return 0 end
call('HDEL', leases, unpack(ended))
if somebody_waits() then
  for _, position in ipairs(ended) do
    for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
      forget_waiting(key)
    end
  end
end
return #ended
