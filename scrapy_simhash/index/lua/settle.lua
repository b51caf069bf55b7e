-- Confirm entries whose records are written: their leases end, and the pages waiting on them go.
-- ARGV: position, ...
if call('EXISTS', waiters) == 1 then
  for _, position in ipairs(ARGV) do
    for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
      forget_waiting(key)
    end
  end
end
return call('HDEL', leases, unpack(ARGV))
