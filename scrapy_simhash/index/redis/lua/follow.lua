-- Return the number of entries in the log, and some segments of it as one text.
-- ARGV: generation, the first segment, how many at most
--# keys
local parts = {}
for number = ARGV[2], math.min(ARGV[2] + ARGV[3], math.ceil(finish / SEGMENT)) - 1 do
  parts[#parts + 1] = segment(number)
end
return {finish, concat(parts)}
