-- Append confirmed entries, whatever is near.
-- ARGV: see the finder up to 3; then for each: record, row, the argument of the finder.
-- Returns the position of the first, and how many were put before the script had done enough.
--# keys
local FIRST, STRIDE = 4, 3
--# compare
--# finder
--# rows
local confirmed = {}
for at = FIRST, #ARGV, STRIDE do
  if effort > MOST_EFFORT then break end
  local position = finish + #records
  look_at(ARGV[at + 2])
  records[#records + 1] = ARGV[at]
  note_entry(position, ARGV[at])
  confirmed[#confirmed + 1] = {position = position, row = ARGV[at + 1]}
end
grow()
add_rows(confirmed)
append(0)
return {finish, #records}
