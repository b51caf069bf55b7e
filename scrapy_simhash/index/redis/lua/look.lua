-- Look for what is near some fingerprints; nothing is written.
-- ARGV: see the finder up to 3; then for each: its record, the argument of the finder.
-- Returns {answers, rows, flooded look-ups}, as claim.lua does of what is not judged.
--# keys
local FIRST, STRIDE = 4, 2
--# compare
--# finder
--# entries
--# answers
local answers = {}
for at = FIRST, #ARGV, STRIDE do
  if effort > MOST_EFFORT then break end
  local answer = {}
  for position, d in pairs(near_ones(ARGV[at], ARGV[at + 1])) do
    local lease = lease_of(position)
    if lease or not is_dead(position) then tell(answer, position, d, lease) end
  end
  answers[#answers + 1] = answer
end
return {answers, told, flooded}
