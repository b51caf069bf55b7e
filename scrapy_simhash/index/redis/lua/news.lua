-- The caller finds what is near a page in its RAM, where the log is up to a position, ARGV[3]; here the
-- page is compared with everything that was admitted since.
-- The finder's argument of a page is the number of values of its keys, 1 byte, these values, 4 bytes
-- each, and the entries near it or with such a value: position and distance, 4 + 2 bytes each.
local seen = tonumber(ARGV[3])
if seen > finish then return false end
-- Most records are found to be far after a quarter of their bytes.
local effort_each = (finish - seen) / 4
if effort_each * (#ARGV - FIRST + 1) / STRIDE > MOST_EFFORT then return {'behind'} end

local function near_ones(fingerprint, found)
  local near, own = {}, seen < finish and {byte(fingerprint, 1, WIDTH)}
  local first, keys, named = 4 * byte(found) + 2, {}, {}
  for i = 2, first - 4, 4 do keys[sub(found, i, i + 3)] = true end
  for i = first, #found, 6 do
    local position, d = struct.unpack('>I4I2', found, i)
    near[position] = d
  end
  effort = effort + effort_each
  for position = seen, finish - 1 do
    local record = record_of(position)
    named[position] = keys[sub(record, -4)]
    near[position] = apart(own, record, named[position])
  end
  return near, named
end

local function nothing() end
local look_at, note_entry, grow = nothing, nothing, nothing
