-- Delete entries, whoever has them.
-- ARGV: generation, then position, fingerprint, ...
-- Returns how many there were.
--# keys
--# entries
local count = 0
for i = 2, #ARGV, 2 do
  local position = tonumber(ARGV[i])
  if fingerprint_of(position) == ARGV[i + 1] and not is_dead(position) then
    bury(position)
    count = count + 1
  end
end
return count
