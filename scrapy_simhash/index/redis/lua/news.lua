-- What is near a page, found by the caller in its RAM, where the log is up to a position; here the
-- page is compared with everything that was admitted since.
-- ARGV[3] is that position, nothing if it plays no part; ARGV[4] is the record before it. The
-- finder's arguments of a page are the entries near it (position and distance, 4 + 2 bytes each),
-- and the pages before it in this call that are near it (their number and the distance, 2 + 2).
local seen = tonumber(ARGV[3])

local function refusal()
  if seen and (seen > finish or seen > 0 and record_of(seen - 1) ~= ARGV[4]) then
    return {'another'}
  end
  local pages = (#ARGV - FIRST + 1) / STRIDE
  return seen and (finish - seen) * pages > MOST_COMPARED and {'behind'}
end

local function look_at() end

local function near_ones(fingerprint, at)
  local near, own = nil, nil
  local entries, mates = ARGV[at], ARGV[at + 1]
  for i = 1, #entries, 6 do
    local high, low = byte(entries, i + 4, i + 5)
    near = near or {}
    near[position_in(entries, i)] = high * 256 + low
  end
  for i = 1, #mates, 4 do
    local a, b, c, d = byte(mates, i, i + 3)
    local position = admitted[a * 256 + b + 1]
    if position then
      near = near or {}
      near[position] = c * 256 + d
    end
  end
  for position = seen, finish - 1 do
    own = own or bytes_of(fingerprint)
    local d = apart(own, record_of(position), 0)
    if d then
      near = near or {}
      near[position] = d
    end
  end
  return near
end

local function note_entry() end

local function save_entries() end
