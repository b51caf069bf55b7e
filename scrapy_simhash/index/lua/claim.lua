-- Claim for pages, one after the other; each claim is as atomic as the script.
-- ARGV: width, seen, last fingerprint seen, distance, now, lease, now + lease, worker; then for each
--   page: the entry that it would become (see leases in life.lua), flags, candidates
-- flags: "c" a confirmed entry matches, "o" one of its own key does, "b" compare with the pages of
-- this call too. candidates: position and distance, 4 + 2 bytes each, of entries near the page
-- whose state is not known.
-- Returns the log's end, the pages given up, {position, fingerprint, ...} of what was deleted,
-- then a list with, for each page,
--   its position, if it became an original and nothing else happened;
--   {"again", position, distance, ...}: read the records of these, then claim again;
--   {outcome, own position, waiting, {key, request, ...}, {match, ...}}, a match being
--   {position, distance, key, time, fingerprint}
-- Nothing is returned if the caller has to follow the log first.

local width, seen, last = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local distance, now, lease = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local expires, worker = ARGV[7], ARGV[8]

local state = call('HMGET', meta, 'flushed', 'last')
local flushed = tonumber(state[1])
if not flushed or seen < flushed then return {} end
if seen == flushed then
  if seen > 0 and state[2] ~= last then return {} end
else
  local at = (seen - flushed - 1) * width
  if call('GETRANGE', tail, at, at + width - 1) ~= last then return {} end
end
local news = call('GETRANGE', tail, (seen - flushed) * width, -1)
local before = #news / width
if before > 256 then return {} end

local ones, byte = nil, string.byte

-- The stand-in of Redis for tests has no library for this.
local bxor = bit and bit.bxor or function(a, b)
  local result, place = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then result = result + place end
    a, b, place = (a - a % 2) / 2, (b - b % 2) / 2, place * 2
  end
  return result
end

-- The Hamming distance of a page to the fingerprint at place i, or nil if it is over the limit.
local function near(page, others, i)
  if not ones then
    ones = {[0] = 0}
    for n = 1, 255 do ones[n] = ones[(n - n % 2) / 2] + n % 2 end
  end
  local total, at = 0, i * width
  for j = 1, width, 4 do
    local a, b, c, d = byte(others, at + j, at + j + 3)
    local e, f, g, h = byte(page, j, j + 3)
    total = total + ones[bxor(a, e)] + ones[bxor(b, f)] + ones[bxor(c, g)] + ones[bxor(d, h)]
    if total > distance then return nil end
  end
  return total
end

local function number(text, at)
  local a, b, c, d = byte(text, at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function nearer(one, other)
  if one.distance ~= other.distance then return one.distance < other.distance end
  return one.position < other.position
end

-- What is admitted here is appended at the end, in one go.
local fingerprints, is_waited = {}, somebody_waits()

local function claim(body, flags, candidates)
  local fingerprint, page = body:sub(-width), nil
  local found, unknown, looked = {}, {'again'}, {}
  local function look(position, d)
    if looked[position] then return end
    looked[position] = true
    page = page or unpack_lease(-1, '0 ' .. body)
    local entry = lease_of(position)
    if not entry then
      unknown[#unknown + 1] = position
      unknown[#unknown + 1] = d
    elseif entry.scope == page.scope then
      entry.distance = d
      found[#found + 1] = entry
    end
  end
  for at = 1, #candidates, 6 do
    local a, b = byte(candidates, at + 4, at + 5)
    look(number(candidates, at), a * 256 + b)
  end
  for i = 0, before - 1 do
    local d = near(fingerprint, news, i)
    if d then look(seen + i, d) end
  end
  if flags:find('b') then
    for i, other in ipairs(fingerprints) do
      local d = near(fingerprint, other, 0)
      if d then look(seen + before + i - 1, d) end
    end
  end
  if #unknown > 1 then return unknown end

  if is_waited then
    page = page or unpack_lease(-1, '0 ' .. body)
    forget_waiting(page.key)
  end
  table.sort(found, nearer)
  local own, matches, living = flags:find('o'), {}, nil
  for _, entry in ipairs(found) do
    local mine = entry.key == page.key
    if mine then
      own = true
      entry.worker, entry.expires = worker, now + lease
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
  if flags:find('c') then return {'duplicate', -1, 0, {}, matches} end
  if living then
    local waits = page.request ~= ''
    if waits then
      wait(page.key, page.request, living)
      is_waited = true
    end
    return {'duplicate', -1, waits and 1 or 0, {}, matches}
  end

  local position = seen + before + #fingerprints
  fingerprints[#fingerprints + 1] = fingerprint
  pages = {}
  for _, entry in ipairs(found) do
    hand_over(entry.position, worker, now + lease)
    delete(entry.position, entry.fingerprint)
    if entry.request ~= '' then
      wait(entry.key, entry.request, position)
      is_waited = true
    end
  end
  call('HSET', leases, position, expires .. ' ' .. body)
  if #pages == 0 then return position end
  return {'original', position, 0, pages, {}}
end

local answers = {}
for at = 9, #ARGV, 3 do answers[#answers + 1] = claim(ARGV[at], ARGV[at + 1], ARGV[at + 2]) end
if #fingerprints > 0 then call('APPEND', tail, table.concat(fingerprints)) end
return {seen + before + #fingerprints, given_up, deleted, answers}
