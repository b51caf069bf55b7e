-- What is near a page, found by the caller in its RAM, where the log is up to a position; here the
-- page is compared with everything that was admitted since.
-- ARGV[3] is that position, nothing if it plays no part; ARGV[4] is the record before it. The
-- finder's arguments of a page are the entries near it (position and distance, 4 + 2 bytes each),
-- and nothing.
local seen = tonumber(ARGV[3])

local function refusal()
  if seen and (seen > finish or seen > 0 and record_of(seen - 1) ~= ARGV[4]) then
    return {'another'}
  end
  local pages = (#ARGV - FIRST + 1) / STRIDE
  return seen and (finish - seen) * pages > MOST_EFFORT and {'behind'}
end

local function look_at() end

local function near_ones(fingerprint, at)
  local near, own = nil, nil
  local entries = ARGV[at]
  for i = 1, #entries, 6 do
    local high, low = byte(entries, i + 4, i + 5)
    near = near or {}
    near[position_in(entries, i)] = high * 256 + low
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

-- Return what the caller learns for its next call: the records that it has not seen.
local function lesson()
  local news = {}
  for position = seen or finish, finish - 1 do news[#news + 1] = record_of(position) end
  return concat(news)
end
