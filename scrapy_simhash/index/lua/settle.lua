-- Confirm entries whose records are written: their leases end, and the pages waiting on them go.
-- ARGV: position, ...
for _, position in ipairs(ARGV) do
  for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
    forget_waiting(key)
  end
  end_lease(position)
end
return 0
