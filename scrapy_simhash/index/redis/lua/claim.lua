-- Claim for pages, one after the other; each claim is as atomic as the script. Or look for what is
-- near them.
-- ARGV: see the finder up to 3; now, end of the leases, or "" to look only, their heads (see
--   entries.lua); then for each page: record, size of the row with row and request, positions judged
--   to be other pages, positions judged to be copies and expired, "1" if a page before it in this
--   call is near it, the argument of the finder.
-- Returns {answers, rows, flooded look-ups}: the answer of a page is its position if it was admitted;
-- false if the page has to claim again, because the script has done enough, or because a page before
-- it may change its answer; else what is near and not yet judged, or no more as it was judged; see
-- tell(). If nothing is, the page has to claim again once the one before it has its answer. An own
-- entry that is provisional is leased to the caller on the way.
--# keys
local FIRST, STRIDE = 7, 6
--# compare
--# finder
--# entries
local now, ends, head = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local leased, answers = {}, {}
-- What is known of the confirmed entries near the pages: pairs of a number of ROWS positions and its
-- content.
local told, is_told = {}, {}

-- Add an entry to an answer: position, distance, last 3 bytes of the fingerprint, lease without what
-- repeats the request, or ''.
local function tell(answer, position, d, lease)
  local known = lease and sub(lease, 1, HEAD + 4 + #row_at(lease, HEAD + 1)) or ''
  answer[#answer + 1] = {position, d, sub(fingerprint_of(position), -3), known}
  local number = floor(position / ROWS)
  if not lease and not is_told[number] then
    is_told[number] = true
    told[#told + 1] = {number, call('HGET', rows, number) or ''}
  end
end

-- Return the set of some positions, given as 4 bytes each.
local function set_of(positions)
  local set = {}
  for i = 1, #positions, 4 do set[struct.unpack('>I4', positions, i)] = true end
  return set
end

-- The expired entries that pages without an answer may replace.
local contested = {}

local function claim(at, near)
  local others, copies = set_of(ARGV[at + 2]), set_of(ARGV[at + 3])
  local replaced, answer = {}, {}
  for position in pairs(near) do
    if contested[position] then return false end
  end
  for position, d in pairs(near) do
    if not others[position] then
      local lease = leased[position] or call('HGET', leases, position)
      local is_own, is_expired = false, false
      if lease then
        local row, own_row, request = row_at(lease, HEAD + 1), row_at(ARGV[at + 1], 1)
        is_own = ends ~= '' and key_of(row) == key_of(own_row)
        is_expired = not is_own and expires_of(lease) <= now
        if is_own then
          lease = sub(head, 1, HEAD - 1) .. sub(lease, HEAD, HEAD + 4 + #row) .. request
          leased[position] = lease
        end
      end
      contested[position] = is_expired or nil
      if copies[position] and is_expired then
        replaced[#replaced + 1] = position
      elseif lease or not is_dead(position) then
        tell(answer, position, d, lease)
      end
    end
  end
  if #answer > 0 or ARGV[at + 4] ~= '' or ends == '' then return answer end
  for _, position in ipairs(replaced) do bury(position) end
  local position = finish + #records
  records[#records + 1] = ARGV[at]
  note_entry(position, ARGV[at])
  leased[position] = head .. ARGV[at + 1]
  return position
end

for at = FIRST, #ARGV, STRIDE do
  local is_enough = effort > MOST_EFFORT and at > FIRST
  answers[#answers + 1] = not is_enough and claim(at, near_ones(ARGV[at], ARGV[at + 5]))
end

-- The log comes last: what is beyond its end plays no part, should a write before fail.
grow()
local fields, scores = {}, {}
for position, lease in pairs(leased) do
  local size, name = #fields, tostring(position)
  fields[size + 1], fields[size + 2] = name, lease
  scores[size + 1], scores[size + 2] = ends, name
end
if #fields > 0 then
  call('HSET', leases, unpack(fields))
  call('ZADD', due, unpack(scores))
end
if #records > 0 then append() end
return {answers, told, flooded}
