-- The life of an entry: provisional with a lease, then confirmed with a row, or deleted.
--
-- A lease has the time when it ends (a double, 8 bytes), its crawler (8), the mark of the crawler's
-- spider (4) and the number of adoptions (1); the row follows it. A row has the sizes of the facts
-- (1) and of the scope (2), the time (4), facts, scope and key.
local LEASE, ROW = 21, 7

local function expires_of(lease)
  return (struct.unpack('>d', lease))
end

local function owner_of(lease)
  return sub(lease, 9, 16)
end

local function key_of(row, at)
  local facts, high, low = byte(row, at, at + 2)
  return sub(row, at + ROW + facts + high * 256 + low)
end

local function lease_of(position)
  return call('HGET', leases, position)
end

local function is_dead(position)
  return position >= finish or call('GETBIT', dead, position) == 1
end

local function bury(position)
  if call('SETBIT', dead, position, 1) == 0 then call('HINCRBY', meta, 'dead', 1) end
  call('HDEL', leases, position)
  call('HDEL', requests, position)
  call('ZREM', due, position)
end

-- Call a function with each position whose key is given after it in the arguments, and its lease.
-- A position that has another key by now is of a log that came after.
local function each_leased(first, act)
  for i = first, #ARGV, 2 do
    local lease = lease_of(ARGV[i])
    if lease and key_of(lease, LEASE + 1) == ARGV[i + 1] then act(ARGV[i], lease) end
  end
end
