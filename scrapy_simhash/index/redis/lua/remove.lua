-- Delete entries, whoever has them.
-- ARGV: generation, then positions.
-- Returns how many there were.
--# keys
--# entries
local count = 0
for i = 2, #ARGV do
  local position = tonumber(ARGV[i])
  if not is_dead(position) then
    bury(position)
    count = count + 1
  end
end
return count
