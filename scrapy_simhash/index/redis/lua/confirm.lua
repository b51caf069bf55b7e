-- Make provisional entries final, whoever has leased them.
-- ARGV: generation, then position, key, ...
--# keys
--# entries
--# rows
local confirmed, settled = {}, {}
each_leased(2, function(position, lease)
  settled[#settled + 1] = position
  confirmed[#confirmed + 1] = tonumber(position)
  confirmed[#confirmed + 1] = sub(lease, LEASE + 1)
end)
if #settled > 0 then
  append_rows(confirmed)
  call('HDEL', leases, unpack(settled))
  call('HDEL', requests, unpack(settled))
  call('ZREM', due, unpack(settled))
end
return 0
