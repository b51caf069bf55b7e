-- Confirm entries whose records are written: their leases end, and the pages waiting on them go.
-- ARGV: position, fingerprint, ...; an entry with another fingerprint is of a log that came after.
local somebody_waits = call('EXISTS', waiters) == 1
for i = 1, #ARGV, 2 do
  local position, fingerprint = ARGV[i], ARGV[i + 1]
  local packed = call('HGET', leases, position)
  if packed and packed:sub(-#fingerprint) == fingerprint then
    call('HDEL', leases, position)
    if somebody_waits then
      for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
        forget_waiting(key)
      end
    end
  end
end
return 0
