-- Pages claim one after the other, each as atomically as the script; or only look for what is near.
--
-- ARGV   1 to 3 are those of the finder
--   4 to 7  now | end of the leases, or "" to look only | head of a lease, see entries.lua | run
--   then, for each page:
--     record
--     size of the row, row and request
--     the entries that the caller has heard of, see known_ones()
--     what the page does if these are as it has heard: "" it becomes an entry, "d" it only deletes, or
--       it leases its own entry, whose position stands here in 4 bytes, or "w" and the position of the
--       entry beside whose lease the request is kept, which then comes without a row
--     "1" if a page before it in this call is near it
--     the argument of the finder
-- Returns {answers, rows, flooded look-ups}. The answer of a page is
--   a position   it became the entry there
--   -1           it did what it was told, and became no entry
--   -2           its own entry, or the one on which it waits, has gone meanwhile
--   false        it claims again, because the script has done enough, or a page before it may change
--                its answer
--   entries      those near it, or of one of its keys, of which the caller has not heard, or has heard
--                otherwise; see tell(). If there is none, it claims again after the page before it
--# keys
local FIRST, STRIDE = 8, 6
--# compare
--# finder
--# entries
local now, ends, head, current = tonumber(ARGV[4]), ARGV[5], ARGV[6], tonumber(ARGV[7])
local leased, answers = {}, {}
-- Fields and values of the rows of the confirmed entries near the pages.
local told, is_told = {}, {}

-- Entries of other leases beside which a request is kept now.
local waited_on = {}

-- Add an entry to an answer: position, distance, run, fingerprint, lease up to the row, or '', and 1 if
-- a copy's request stands beside it, else 0.
local function tell(answer, position, d, run, lease)
  local known, has_copy = '', 0
  if lease then
    local _, last = part_at(lease, HEAD + 1)
    known, has_copy = sub(lease, 1, last - 1), copy_of(lease) ~= '' and 1 or 0
  end
  answer[#answer + 1] = {position, d, run, fingerprint_of(position), known, has_copy}
  if lease then return end
  for _, field in ipairs({':' .. position, tostring(floor(position / ROWS))}) do
    local content = is_told[field] or call('HGET', rows, field)
    if content then
      if not is_told[field] then told[#told + 1] = {field, content} end
      is_told[field] = true
      return
    end
  end
end

-- Return what the caller has heard of entries, by position, each with position (4 bytes), run (3), and
-- the sum of 1 if it is replaced, 2 if it had expired, and 4 if it is another page, so that its run and
-- lease do not matter (1).
local function known_ones(packed)
  local found = {}
  for at = 1, #packed, 8 do
    local position, run, flags = struct.unpack('>I4I3B', packed, at)
    found[position] = {run = run, is_replaced = flags % 2 == 1, has_expired = floor(flags / 2) % 2 == 1,
      is_other = flags >= 4}
  end
  return found
end

-- Lease the own entry to the caller, as one that is seen in this run. An entry that was confirmed in
-- an earlier run goes back there when it is released; one of this run stays confirmed.
local function keep(position, lease, run, claim)
  if not lease and run == current then return end
  local adoptions, back = 0, run
  if lease then adoptions, back = byte(lease, ADOPTIONS), back_of(lease) or NEVER end
  leased[position] = sub(head, 1, ADOPTIONS - 1) .. struct.pack('>BI4', adoptions, back) .. claim ..
    (lease and copy_of(lease) or '')
  waited_on[position] = nil
  if run ~= current and current > 0 then see(position, current) end
end

-- Entries that pages without an answer may replace or lease.
local contested = {}

-- Tell of entries that the caller has not heard of, or not so: the nearest ones, as long as the page has
-- rulings left, and those that have one of its keys.
local function tell_some(answer, unheard, left)
  table.sort(unheard, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  for _, one in ipairs(unheard) do
    local is_named = one[5] or one[2] > distance
    if is_named or left > 0 then tell(answer, one[1], one[2], one[3], one[4]) end
    if not is_named then left = left - 1 end
  end
end

-- Return the oldest entry that can be crawled, else the copy of the oldest one that has one, of those
-- that a page replaces, given with their leases; the page itself, given by row and request, waits on
-- nobody.
local function carried(replaced, row, request)
  table.sort(replaced, function(a, b) return a[1] < b[1] end)
  for _, part in ipairs({page_of, copy_of}) do
    for _, one in ipairs(replaced) do
      local lease = one[2]
      local is_other = lease and (part == copy_of or key_of(part_at(lease, HEAD + 1)) ~= key_of(row))
      local found = is_other and part(lease) or ''
      if found ~= '' and sub(found, 13) ~= request then return found end
    end
  end
  return ''
end

local function claim(at, near, named)
  local known, act = known_ones(ARGV[at + 2]), ARGV[at + 3]
  local own = #act == 4 and struct.unpack('>I4', act)
  local other = #act == 5 and struct.unpack('>I4', act, 2)
  local replaced, answer, unheard, kept, waited = {}, {}, {}, nil, nil
  for position in pairs(near) do
    if contested[position] then
      -- Whoever waits may do so, too.
      for other in pairs(near) do contested[other] = true end
      return false
    end
  end
  for position, d in pairs(near) do
    local one = known[position]
    if not (one and one.is_other) then
      local lease = leased[position] or call('HGET', leases, position)
      if lease or not is_dead(position) then
        local run, has_expired = run_of(position), lease and expires_of(lease) <= now or false
        local is_old = current > 0 and run ~= current
        -- An own entry beyond reach is replaced, too.
        contested[position] = ends ~= '' and (has_expired or is_old or d > distance) or nil
        if not (one and one.run == run and one.has_expired == has_expired) then
          unheard[#unheard + 1] = {position, d, run, lease, named[position] ~= nil}
        elseif position == own then
          kept = {lease, run}
        elseif position == other then
          waited = lease or ''
        elseif one.is_replaced then
          replaced[#replaced + 1] = {position, lease}
        end
      end
    end
  end
  -- All are told of to who looks only.
  local left = ends == '' and #unheard or RULINGS - #ARGV[at + 2] / 8
  tell_some(answer, unheard, left)
  -- A page before it in this call is judged by the next one, if the page has a ruling left.
  local waits = act == '' and ARGV[at + 4] ~= '' and left > 0
  if #answer > 0 or ends == '' or waits then return answer end
  if (own and not kept) or (other and not waited) then return -2 end
  for _, one in ipairs(replaced) do
    bury(one[1])
    leased[one[1]], waited_on[one[1]] = nil, nil
  end
  if kept then
    keep(own, kept[1], kept[2], ARGV[at + 1])
  elseif waited then
    -- It may have been confirmed, or have got another copy.
    if waited ~= '' and copy_of(waited) == '' then
      waited_on[other] = not leased[other] or waited_on[other]
      leased[other] = waited .. sub(head, 9, 20) .. ARGV[at + 1]
    end
  elseif act == '' then
    local position = finish + #records
    local copy = carried(replaced, parts_at(ARGV[at + 1], 1))
    records[#records + 1] = ARGV[at]
    note_entry(position, ARGV[at])
    leased[position] = head .. ARGV[at + 1] .. copy
    if copy ~= '' then call('ZADD', due_of(sub(copy, 9, 12)), 'NX', ends, position) end
    return position
  end
  return -1
end

-- Return whether no entry matters to a page but those of its keys, because all of its rulings told of
-- other pages.
local function has_no_ruling(heard)
  if ends == '' or #heard / 8 < RULINGS then return false end
  for at = 8, #heard, 8 do
    if byte(heard, at) < 4 then return false end
  end
  return true
end

for at = FIRST, #ARGV, STRIDE do
  if effort > MOST_EFFORT and at > FIRST then
    answers[#answers + 1] = false
  else
    answers[#answers + 1] = claim(at, near_ones(ARGV[at], ARGV[at + 5], has_no_ruling(ARGV[at + 2])))
  end
end

-- The log comes last: what is beyond its end plays no part, should a write before fail.
grow()
local fields, scores = {}, {}
for position, lease in pairs(leased) do
  local size, name = #fields, tostring(position)
  fields[size + 1], fields[size + 2] = name, lease
  if waited_on[position] then
    call('ZADD', due, 'NX', ends, name)
  else
    scores[#scores + 1], scores[#scores + 2] = ends, name
  end
end
if #fields > 0 then call('HSET', leases, unpack(fields)) end
if #scores > 0 then call('ZADD', due, unpack(scores)) end
if #records > 0 then append(current) end
return {answers, told, flooded}
