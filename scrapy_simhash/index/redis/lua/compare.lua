-- Distances of fingerprints, given as bytes.
local distance, bxor = tonumber(ARGV[2]), bit.bxor
-- The effort so far, in comparisons; a call ends soon after MOST_EFFORT of them (to find what is compared
-- takes as long as another one); look-ups that met a full bucket.
local effort, flooded = 0, 0

-- How many bits of a byte are set; few bytes are met, because near pages differ in few bits.
local ones = setmetatable({[0] = 0}, {__index = function(known, number)
  known[number] = known[floor(number / 2)] + number % 2
  return known[number]
end})

-- Return the distance of a fingerprint, given as bytes, to the one that a record begins with, nothing
-- if it is too far, unless it may be any.
local function apart(own, record, is_any)
  local total = 0
  if #record < WIDTH then return nil end
  for j = 1, WIDTH, 4 do
    local a, b, c, d = byte(record, j, j + 3)
    total = total + ones[bxor(a, own[j])] + ones[bxor(b, own[j + 1])] +
      ones[bxor(c, own[j + 2])] + ones[bxor(d, own[j + 3])]
    if total > distance and not is_any then return nil end
  end
  return total
end
