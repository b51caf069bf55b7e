-- The life of an entry in the log slot: what the other scripts share; it stands before each,
-- or where it says so.
--
-- tail     string: the fingerprints from position `flushed` on
-- leases   hash: position of a provisional entry -> when it expires, a space, and the entry:
--          "time w k s r:" and, of these lengths, worker, key, scope, request; then its fingerprint
-- waiting  hash: <key>:r|n|w = request, hand-overs, worker of a page that waits or is handed over
-- waiters  sorted set: key -> position of the entry that it waits on
-- handed   sorted set: key -> when its hand-over runs out
-- dead     hash: <segment> or "all" -> how many entries of it were deleted
-- frozen   hash: <segment> -> when it was cut from the tail
-- A request is stored as the number of its spider, "=" and its text; "" stands for none. The name
-- of a worker begins with the number of its spider, too. A page that was met by the worker of
-- another spider is handed over to nobody, until -1 less that number, for workers of its own.
-- Each key has a member that stands for nothing, so that it is there while it is empty: a script on
-- keys of which some are missing is refused while their slot moves to another node.

local meta, tail, leases, waiting, waiters, handed, dead, frozen = unpack(KEYS)
local call = redis.call
local NOBODY = '\0'
local pages, deleted, given_up = {}, {}, {}

local function pack_lease(entry)
  return string.format('%.17g %s %d %d %d %d:', entry.expires, entry.time, #entry.worker,
    #entry.key, #entry.scope, #entry.request) .. entry.worker .. entry.key .. entry.scope ..
    entry.request .. entry.fingerprint
end

local function somebody_waits()
  return call('HLEN', waiting) > 1
end

local function unpack_lease(position, packed)
  local expires, time, w, k, s, r, at =
    packed:match('^(%S+) (%S+) (%d+) (%d+) (%d+) (%d+):()')
  k = at + w + k
  s = k + s
  r = s + r
  return {
    position = tonumber(position), expires = tonumber(expires), time = time,
    worker = packed:sub(at, at + w - 1), key = packed:sub(at + w, k - 1),
    scope = packed:sub(k, s - 1), request = packed:sub(s, r - 1), fingerprint = packed:sub(r),
  }
end

local function key_of(packed)
  local w, k, at = packed:match('^%S+ %S+ (%d+) (%d+) %d+ %d+:()')
  return packed:sub(at + w, at + w + k - 1)
end

local function lease_of(position)
  local packed = call('HGET', leases, position)
  return packed and unpack_lease(position, packed)
end

local function all_leases()
  local packed, found = call('HGETALL', leases), {}
  for i = 1, #packed, 2 do
    if packed[i + 1] ~= '' then found[#found + 1] = unpack_lease(packed[i], packed[i + 1]) end
  end
  table.sort(found, function(one, other) return one.position < other.position end)
  return found
end

local function delete(position, fingerprint)
  call('HDEL', leases, position)
  call('HINCRBY', dead, 'all', 1)
  call('HINCRBY', dead, math.floor(position / SEGMENT), 1)
  deleted[#deleted + 1] = tonumber(position)
  deleted[#deleted + 1] = fingerprint
end

local function forget_waiting(key)
  if call('HDEL', waiting, key .. ':r', key .. ':n', key .. ':w') > 0 then
    call('ZREM', waiters, key)
    call('ZREM', handed, key)
  end
end

local function wait(key, request, position)
  forget_waiting(key)
  call('HSET', waiting, key .. ':r', request, key .. ':n', 0)
  call('ZADD', waiters, position, key)
end

local function spider_of(text)
  return tonumber(text:match('^%d+')) or 0
end

-- Lease a page to a worker, unless it was handed over too often, or is another spider's.
local function take_over(key, request, times, worker, expires)
  local spider = spider_of(request)
  if spider ~= spider_of(worker) then
    call('HSET', waiting, key .. ':r', request, key .. ':n', times, key .. ':w', '')
    call('ZREM', waiters, key)
    call('ZADD', handed, -1 - spider, key)
    return
  end
  if times >= MAX_HANDOVERS then
    forget_waiting(key)
    given_up[#given_up + 1] = key
    return
  end
  call('HSET', waiting, key .. ':r', request, key .. ':n', times + 1, key .. ':w', worker)
  call('ZREM', waiters, key)
  call('ZADD', handed, expires, key)
  pages[#pages + 1] = key
  pages[#pages + 1] = request
end

local function hand_over(position, worker, expires)
  for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
    local noted = call('HMGET', waiting, key .. ':r', key .. ':n')
    if noted[1] then take_over(key, noted[1], tonumber(noted[2]), worker, expires) end
  end
end

