-- Append confirmed entries, whatever is near.
-- ARGV: generation, distance, the caller's level, ''; then for each: record, row, two arguments of
--   the finder.
-- Returns the position of the first, and how many were put before the script had done enough.
--# keys
local FIRST, STRIDE = 5, 4
--# compare
--# finder
--# rows
do
  local refused = refusal()
  if refused then return refused end
end

local confirmed = {}
for at = FIRST, #ARGV, STRIDE do
  if effort > MOST_EFFORT then break end
  local position = finish + #records
  look_at(at + 2)
  records[#records + 1] = ARGV[at]
  note_entry(position, sub(ARGV[at], 1, WIDTH))
  confirmed[#confirmed + 1] = position
  confirmed[#confirmed + 1] = ARGV[at + 1]
end
save_entries()
append_rows(confirmed)
append()
return {finish, #records}
