-- Make provisional entries final, whoever has leased them.
-- ARGV: generation, then position, key, ...
-- A position that has another key by now is of a log that came after.
--# keys
--# entries
--# rows
local confirmed, settled = {}, {}
for i = 2, #ARGV, 2 do
  local lease = lease_of(ARGV[i])
  if lease and key_of(lease, LEASE + 1) == ARGV[i + 1] then
    settled[#settled + 1] = ARGV[i]
    confirmed[#confirmed + 1] = tonumber(ARGV[i])
    confirmed[#confirmed + 1] = sub(lease, LEASE + 1)
  end
end
if #settled > 0 then
  append_rows(confirmed)
  call('HDEL', leases, unpack(settled))
  call('HDEL', requests, unpack(settled))
  call('ZREM', due, unpack(settled))
end
return #settled
