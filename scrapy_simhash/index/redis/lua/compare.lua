-- Distances of fingerprints, given as bytes.
local distance, bxor, ones = tonumber(ARGV[2]), bit.bxor, nil
-- What was done so far, in comparisons, of which a call ends soon after MOST_EFFORT; look-ups that
-- met a full bucket.
local effort, flooded = 0, 0

-- Return the bytes of a fingerprint, as `apart` takes it.
local function bytes_of(fingerprint)
  if not ones then
    ones = {[0] = 0}
    for number = 1, 255 do ones[number] = ones[floor(number / 2)] + number % 2 end
  end
  return {byte(fingerprint, 1, WIDTH)}
end

-- Return the distance to the fingerprint that a record begins with, nothing if it is too far.
local function apart(own, record)
  local total = 0
  if #record < WIDTH then return nil end
  for j = 1, WIDTH, 4 do
    local a, b, c, d = byte(record, j, j + 3)
    total = total + ones[bxor(a, own[j])] + ones[bxor(b, own[j + 1])] +
      ones[bxor(c, own[j + 2])] + ones[bxor(d, own[j + 3])]
    if total > distance then return nil end
  end
  return total
end
