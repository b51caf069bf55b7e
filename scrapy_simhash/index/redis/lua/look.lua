-- Look for what is near some fingerprints; nothing is written.
-- ARGV: see the finder up to 4; then for each: the fingerprint, two arguments of the finder.
-- Returns {answers, rows, flooded look-ups, lesson}, as claim.lua does of what is not judged.
--# keys
local FIRST, STRIDE = 5, 3
--# compare
--# finder
--# entries
--# answers
do
  local refused = refusal()
  if refused then return refused end
end

local answers = {}
for at = FIRST, #ARGV, STRIDE do
  local answer = {}
  if effort <= MOST_EFFORT or at == FIRST then
    for position, d in pairs(near_ones(ARGV[at], at + 1) or {}) do
      local lease = lease_of(position)
      if lease or not is_dead(position) then tell(answer, position, d, lease) end
    end
    answers[#answers + 1] = answer
  end
end
return {answers, told, flooded, lesson()}
