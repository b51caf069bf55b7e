-- The life of an entry in the log slot: what the other scripts share; it stands before each.
--
-- leases   hash: <position>:k|s|f|t|w|r = key, scope, fingerprint, time, worker, request
-- expiry   sorted set: position -> when its lease runs out
-- waiting  hash: <key>:r|n|w = request, hand-overs, worker of a page that waits or is handed over
-- waiters  sorted set: key -> position of the entry that it waits on
-- handed   sorted set: key -> when its hand-over runs out
-- dead     hash: <segment> or "all" = entries of it that were deleted
-- A request is stored as "=" and its text; "" stands for none.

local meta, tail, leases, expiry, waiting, waiters, handed, dead = unpack(KEYS)
local call = redis.call
local pages, deleted, given_up = {}, {}, {}

local function lease_of(position)
  local p = position .. ':'
  local found = call('HMGET', leases, p .. 'k', p .. 's', p .. 'w', p .. 't', p .. 'r', p .. 'f')
  if not found[1] then return nil end
  return {
    position = position, key = found[1], scope = found[2], worker = found[3], time = found[4],
    request = found[5], fingerprint = found[6], expires = tonumber(call('ZSCORE', expiry, position)),
  }
end

local function end_lease(position)
  local p = position .. ':'
  call('HDEL', leases, p .. 'k', p .. 's', p .. 'w', p .. 't', p .. 'r', p .. 'f')
  call('ZREM', expiry, position)
end

local function delete(position, fingerprint)
  end_lease(position)
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

-- Lease a page to a worker, unless it was handed over too often.
local function take_over(key, request, times, worker, expires)
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

