-- Make provisional entries final, whoever has leased them.
-- ARGV: generation, then position, key, ...
--# keys
--# entries
--# rows
local confirmed, settled = {}, {}
for i, entry in ipairs(leased_ones(2)) do
  settled[i] = entry.position
  confirmed[2 * i - 1], confirmed[2 * i] = tonumber(entry.position), entry.row
end
if #settled > 0 then
  append_rows(confirmed)
  call('HDEL', leases, unpack(settled))
  call('ZREM', due, unpack(settled))
end
return 0
