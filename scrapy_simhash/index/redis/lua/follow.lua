-- Return the number of entries in the log, and some segments of it as one text.
-- ARGV: generation, the first segment, how many at most
--# keys
local parts = {}
for number = ARGV[2], math.min(ARGV[2] + ARGV[3], math.ceil(finish / SEGMENT)) - 1 do
  local size = math.min(SEGMENT, finish - number * SEGMENT) * RECORD
  if #segment(number) < size then error('the log has a gap') end
  parts[#parts + 1] = sub(segment(number), 1, size)
end
return {finish, concat(parts)}
