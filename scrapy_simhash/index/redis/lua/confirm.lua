-- Make provisional entries final, whoever has leased them.
-- ARGV: generation, then position, key, ...
--# keys
--# entries
--# rows
local first, settled = {}, {}
for i, entry in ipairs(leased_ones(2)) do
  settled[i] = entry.position
  -- The others have their rows.
  if not back_of(entry.lease) then first[#first + 1] = entry end
end
if #settled > 0 then
  add_rows(first)
  call('HDEL', leases, unpack(settled))
  call('ZREM', due, unpack(settled))
end
return 0
