-- Make provisional entries final, whoever has leased them.
-- ARGV: generation, then position, key, ...
--# keys
--# entries
--# rows
local confirmed, settled = leased_ones(2), {}
for i, entry in ipairs(confirmed) do settled[i] = entry.position end
if #settled > 0 then
  append_rows(confirmed)
  call('HDEL', leases, unpack(settled))
  call('ZREM', due, unpack(settled))
end
return 0
