-- The life of an entry: provisional with a lease, then confirmed with a row, or deleted.
--
-- A lease has the time when it ends (a double, 8 bytes), its crawler (8), the mark of the crawler's
-- spider (4), the number of adoptions (1), the run to which the entry goes back if it was confirmed
-- before, else NEVER (4), the size of the row (4), the row, the size of what repeats the request (4),
-- that, and of a copy that waits on it, if any, its crawler (8), the mark of its spider (4), and what
-- repeats its request. The lease of an entry that is its copy's ends at time 0. A row has the
-- sizes of the facts (1) and of the scope (2), the time (4), facts, scope and key.
local ADOPTIONS, HEAD, ROW, NEVER = 21, 25, 7, 4294967295

local function expires_of(lease)
  return (struct.unpack('>d', lease))
end

-- Return the run to which an entry goes back, nothing if it was never confirmed.
local function back_of(lease)
  local run = struct.unpack('>I4', lease, ADOPTIONS + 1)
  return run < NEVER and run or nil
end

-- Return the part of a text whose size stands at a place, and the place behind it.
local function part_at(text, at)
  local size = struct.unpack('>I4', text, at)
  return sub(text, at + 4, at + 3 + size), at + 4 + size
end

-- Return row and request, whose sizes are at a place of a text, and what stands behind them.
local function parts_at(text, at)
  local row, second = part_at(text, at)
  local request, last = part_at(text, second)
  return row, request, sub(text, last)
end

-- Return crawler, mark and request of an entry, '' if nobody can request it.
local function page_of(lease)
  local _, request = parts_at(lease, HEAD + 1)
  return request ~= '' and sub(lease, 9, 20) .. request or ''
end

-- Return the same of the copy that waits on it, '' if there is none.
local function copy_of(lease)
  if expires_of(lease) == 0 then return page_of(lease) end
  return (select(3, parts_at(lease, HEAD + 1)))
end

local function key_of(row)
  local facts, scope = struct.unpack('>BI2', row)
  return sub(row, ROW + 1 + facts + scope)
end

-- Return the key of what is due of a spider, given by its mark.
local function due_of(mark)
  return (string.gsub(due, '%d+$', string.format('%.0f', struct.unpack('>I4', mark))))
end

local function is_dead(position)
  return position >= finish or call('GETBIT', dead, position) == 1
end

local function run_of(position)
  local key, at = place_of(position)
  local found = call('GETRANGE', key, at, at + 2)
  return #found == 3 and struct.unpack('>I3', found) or 0
end

-- Let the page of an entry be seen in a run.
local function see(position, run)
  count_in(run_of(position), -1)
  note_run(position, 1, run)
  count_in(run, 1)
end

local function end_lease(position)
  call('HDEL', leases, position)
  call('ZREM', due, position)
end

-- Delete an entry; a deleted one is of no run.
local function bury(position)
  if call('SETBIT', dead, position, 1) == 0 then
    call('HINCRBY', meta, 'dead', 1)
    see(position, 0)
  end
  end_lease(position)
end

-- Let a provisional entry be its copy's, or delete it, or let it be again what it was before it was
-- leased.
local function take_back(position, lease)
  local back, row, _, copy = back_of(lease), parts_at(lease, HEAD + 1)
  if copy ~= '' then
    local request = sub(copy, 13)
    call('HSET', leases, position, struct.pack('>d', 0) .. sub(copy, 1, 12) .. char(0) ..
      sub(lease, ADOPTIONS + 1, HEAD) .. struct.pack('>I4', #row) .. row ..
      struct.pack('>I4', #request) .. request)
    call('ZADD', due, 0, position)
    return
  end
  if not back then return bury(position) end
  see(position, back)
  end_lease(position)
end

-- Return position, lease and row of the provisional entries among some, given by position and key
-- from an argument on; if a crawler is given, only its own that are no copy's. A position that has
-- another key by now is of a log that came after.
local function leased_ones(first, owner)
  local positions, keys, found = {}, {}, {}
  for i = first, #ARGV, 2 do
    positions[#positions + 1], keys[#keys + 1] = ARGV[i], ARGV[i + 1]
  end
  if #positions == 0 then return found end
  for i, lease in ipairs(call('HMGET', leases, unpack(positions))) do
    local row = lease and part_at(lease, HEAD + 1)
    local is_own = lease and sub(lease, 9, 16) == owner and expires_of(lease) > 0
    if row and key_of(row) == keys[i] and (is_own or not owner) then
      found[#found + 1] = {position = positions[i], lease = lease, row = row}
    end
  end
  return found
end
