-- Distances of fingerprints, given as bytes.
local distance = tonumber(ARGV[2])
local ones
local bxor = bit.bxor
-- What was done so far, in comparisons, of which a call ends soon after MOST_EFFORT; look-ups that met more entries in a bucket than are read.
local effort, flooded = 0, 0

-- Return the bytes of a fingerprint, as `apart` takes it.
local function bytes_of(fingerprint)
  if not ones then
    ones = {[0] = 0}
    for number = 1, 255 do ones[number] = ones[floor(number / 2)] + number % 2 end
  end
  return {byte(fingerprint, 1, WIDTH)}
end

-- Return the distance to the fingerprint after a place of a text, nothing if it is too far.
local function apart(own, text, at)
  local total = 0
  effort = effort + 1
  for j = 1, WIDTH, 4 do
    local a, b, c, d = byte(text, at + j, at + j + 3)
    total = total + ones[bxor(a, own[j])] + ones[bxor(b, own[j + 1])] +
      ones[bxor(c, own[j + 2])] + ones[bxor(d, own[j + 3])]
    if total > distance then return nil end
  end
  return total
end
