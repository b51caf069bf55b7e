-- Claim for pages, one after the other; each claim is as atomic as the script.
-- ARGV: width, seen, last fingerprint seen, generation, distance, now, lease, worker, comparisons at
--   most; then for each page: the lease that it would get (see life.lua), what is near it.
-- What is near is '' if the caller found nothing; else three flags, each '-' if it does not hold, and
--   candidates. Flags: "c" a confirmed entry matches, "o" one of its own key does, "b" compare with
--   the pages of this call too. Candidates: position and distance, 4 + 2 bytes each, of entries
--   whose state is not known.
-- Returns the pages given up, {position, fingerprint, ...} of what was deleted, the fingerprints that
-- the log had after those seen, and a list with, for each page,
--   its position, if it became an original and nothing else happened;
--   {"again", position, distance, ...}: read the records of these, then claim again;
--   {outcome, own position, waiting, {key, request, ...}, {match, ...}}, a match being
--   {position, distance, key, time, fingerprint}
-- Nothing is returned if the caller has to follow the log first.

local width, seen, last, distance = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[5])
local FIRST = 10

local state = redis.call('HMGET', KEYS[1], 'flushed', 'last', 'generation')
local flushed, news = tonumber(state[1]), nil
if not flushed or seen < flushed or state[3] ~= ARGV[4] then return {} end
if seen == flushed then
  if seen > 0 and state[2] ~= last then return {} end
  news = redis.call('GETRANGE', KEYS[2], 0, -1)
else
  news = redis.call('GETRANGE', KEYS[2], (seen - flushed - 1) * width, -1)
  if news:sub(1, width) ~= last then return {} end
  news = news:sub(width + 1)
end
local before = #news / width
-- Fingerprints that differ in so few bits have one of their pieces in common.
local piece = math.floor(width / (distance + 1))
local is_exact = piece < 2
if is_exact and before * (#ARGV - FIRST + 1) / 2 > tonumber(ARGV[9]) then return {} end

local ones, byte, sub, find = nil, string.byte, string.sub, string.find

-- The stand-in of Redis for tests has no library for this.
local bxor = bit and bit.bxor or function(a, b)
  local result, place = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then result = result + place end
    a, b, place = (a - a % 2) / 2, (b - b % 2) / 2, place * 2
  end
  return result
end

-- Note the distance of a page, given by its bytes, to the fingerprint at place i, if it is near.
local function compare(page, others, i, first, near)
  local total, at = 0, i * width
  for j = 1, width, 8 do
    local a, b, c, d, e, f, g, h = byte(others, at + j, at + j + 7)
    total = total + ones[bxor(a, page[j])] + ones[bxor(b, page[j + 1])] +
      ones[bxor(c, page[j + 2])] + ones[bxor(d, page[j + 3])] + ones[bxor(e, page[j + 4])] +
      ones[bxor(f, page[j + 5])] + ones[bxor(g, page[j + 6])] + ones[bxor(h, page[j + 7])]
    if total > distance then return near end
  end
  near = near or {}
  near[first + i] = total
  return near
end

-- The distances of what is near a page among fingerprints, by position, that of the first given;
-- nothing if none is.
local function near_ones(fingerprint, others, first)
  local near, page
  if is_exact then
    ones, page = ones or ones_of_bytes(), {byte(fingerprint, 1, width)}
    for i = 0, #others / width - 1 do near = compare(page, others, i, first, near) end
    return near
  end
  for from = 1, piece * (distance + 1), piece do
    local part = sub(fingerprint, from, from + piece - 1)
    local at = find(others, part, from, true)
    while at do
      if (at - from) % width == 0 then
        ones, page = ones or ones_of_bytes(), page or {byte(fingerprint, 1, width)}
        near = compare(page, others, (at - from) / width, first, near)
      end
      at = find(others, part, at + 1, true)
    end
  end
  return near
end

local fingerprints, leased, news_near, is_usual = {}, {}, {}, true

local function admit(lease, fingerprint)
  local position = seen + before + #fingerprints
  fingerprints[#fingerprints + 1] = fingerprint
  leased[#leased + 1] = position
  leased[#leased + 1] = lease
  return position
end

for at = FIRST, #ARGV, 2 do
  news_near[at] = before > 0 and near_ones(sub(ARGV[at], -width), news, seen) or nil
  is_usual = is_usual and not news_near[at] and ARGV[at + 1] == ''
end
-- Most pages are near nothing, and what follows is for the others.
if is_usual and redis.call('HLEN', KEYS[4]) == 1 then
  local answers = {}
  for at = FIRST, #ARGV, 2 do answers[#answers + 1] = admit(ARGV[at], sub(ARGV[at], -width)) end
  redis.call('HSET', KEYS[3], unpack(leased))
  redis.call('APPEND', KEYS[2], table.concat(fingerprints))
  return {{}, {}, news, answers}
end

--# life.lua

local function number(text, at)
  local a, b, c, d = byte(text, at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function nearer(one, other)
  if one.distance ~= other.distance then return one.distance < other.distance end
  return one.position < other.position
end

-- The keys that are noted as waiting or handed over, of those that claim here: no more, once they do.
-- What another spider noted stays, since its page may be left undone here.
local noted, of_others = {}, {}
if somebody_waits() then
  local fields = {}
  for at = FIRST, #ARGV, 2 do fields[#fields + 1] = key_of(ARGV[at]) .. ':r' end
  for i, request in ipairs(call('HMGET', waiting, unpack(fields))) do
    if request then
      local which = spider_of(request) == spider_of(ARGV[8]) and noted or of_others
      which[fields[i]:sub(1, -3)] = true
    end
  end
end

local function forget_noted(key)
  if noted[key] then forget_waiting(key) end
  noted[key] = nil
end

local function wait_here(entry, position)
  wait(entry.key, entry.request, position)
  noted[entry.key] = true
end

-- What is admitted is written at the end, in one go; leases also before others are read.
local function write_leases()
  if #leased > 0 then call('HSET', leases, unpack(leased)) end
  leased = {}
end

local function claim(lease, fingerprint, flags, near)
  local now, ends, worker = tonumber(ARGV[6]), ARGV[6] + ARGV[7], ARGV[8]
  local page, found, unknown = unpack_lease(-1, lease), {}, {'again'}
  write_leases()
  for position, d in pairs(near) do
    local entry = lease_of(position)
    if not entry then
      unknown[#unknown + 1] = position
      unknown[#unknown + 1] = d
    elseif entry.scope == page.scope then
      entry.distance = d
      found[#found + 1] = entry
    end
  end
  if #unknown > 1 then return unknown end

  forget_noted(page.key)
  table.sort(found, nearer)
  local own, matches, living = find(flags, 'o', 1, true), {}, nil
  for _, entry in ipairs(found) do
    local mine = entry.key == page.key
    if mine then
      own = true
      entry.worker, entry.expires = worker, ends
      if page.request ~= '' then entry.request = page.request end
      call('HSET', leases, entry.position, pack_lease(entry))
    end
    if mine or entry.expires > now then
      living = living or entry.position
      matches[#matches + 1] =
        {entry.position, entry.distance, entry.key, entry.time, entry.fingerprint}
    end
  end
  if own then return {'revisit', -1, 0, {}, matches} end
  if find(flags, 'c', 1, true) then return {'duplicate', -1, 0, {}, matches} end
  if living then
    local waits = page.request ~= '' and not of_others[page.key]
    if waits then wait_here(page, living) end
    return {'duplicate', -1, waits and 1 or 0, {}, matches}
  end

  local position = admit(lease, fingerprint)
  pages = {}
  for _, entry in ipairs(found) do
    hand_over(entry.position, worker, ends)
    delete(entry.position, entry.fingerprint)
    if entry.request ~= '' then wait_here(entry, position) end
  end
  for i = 1, #pages, 2 do noted[pages[i]] = true end
  if #pages == 0 then return position end
  return {'original', position, 0, pages, {}}
end

local answers = {}
for at = FIRST, #ARGV, 2 do
  local lease, known = ARGV[at], ARGV[at + 1]
  local fingerprint = sub(lease, -width)
  local near = news_near[at]
  if known == '' and not near then
    if next(noted) then forget_noted(key_of(lease)) end
    answers[#answers + 1] = admit(lease, fingerprint)
  else
    near = near or {}
    if sub(known, 3, 3) == 'b' then
      local others = near_ones(fingerprint, table.concat(fingerprints), seen + before)
      for position, d in pairs(others or {}) do near[position] = d end
    end
    for i = 4, #known, 6 do
      local a, b = byte(known, i + 4, i + 5)
      near[number(known, i)] = a * 256 + b
    end
    answers[#answers + 1] = claim(lease, fingerprint, sub(known, 1, 3), near)
  end
end
write_leases()
if #fingerprints > 0 then call('APPEND', tail, table.concat(fingerprints)) end
return {given_up, deleted, news, answers}
