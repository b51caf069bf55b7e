-- Write each part that nothing stands against; tell what is near the pages of the others.
--
-- KEYS: meta, leases, and what the keys of groups and leaves begin with.
--   meta     hash: the header; "last": the last position; "leaves": the number of leaves of each
--            block, LEAVES if it is missing; "<run>:pages": entries that were last seen in a run
--   groups   lists: the generation, ":" and the number of the group -> its entries, each empty if
--            it is gone. An entry has the size of its run (1 byte), its run without leading zeros,
--            its fingerprint and its body
--   leases   hash: "": the generation; position -> lease of an entry in progress
--   leaves   strings: the generation, ";", block (1 byte), the last 13 bits of a value (2 bytes),
--            and the next bits of the value (1 byte, not 0) if the leaf came by a split -> for
--            each entry the first 19 bits of its value, and its position (29 bits), the oldest
--            first. As the index grows, one leaf after the other splits in two, so that a look
--            reads one small leaf of each block: linear hashing (Litwin, VLDB 1980)
-- ARGV: generation, last position that the caller knows of, bytes of a fingerprint, reach, number
-- of blocks, entries that are read of a bucket, and of that of a key; then for each part the
-- numbers of its looks, checks, new entries and writes, 2 bytes each, and `since`, and then
--   look      fingerprint, and the values of blocks and keys: block (1 byte), last 13 bits
--             (2 bytes), first 19 bits, 5 bits 0
--   check     position, run, lease
--   new       number of its look, run, lease, body
--   write     position, run, lease; without a run, it deletes
-- Returns generation, last position, time (2), for each part its first new position (-1: refused,
-- -2: not looked at), for each look of a refused one distances and positions of what is near, these
-- positions and those that it checks, their leases and entries. One item is another generation,
-- none is a damaged index.
local meta, leases, prefix = unpack(KEYS)
local call, sub, find, char, byte = redis.call, string.sub, string.find, string.char, string.byte
local decode, encode, floor, xor = struct.unpack, struct.pack, math.floor, bit.bxor
local width, reach, blocks = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local BUCKET_LIMIT, KEY_LIMIT = tonumber(ARGV[6]), tonumber(ARGV[7])
-- Positions in a group; comparisons after which no other part is looked at; positions.
local GROUP, EFFORT, POSITIONS = 32, 10000, 2 ^ 29
-- Leaves of a block in a small index; positions for each leaf in a larger one; leaves of a block
-- that split in one call.
local LEAVES, LOAD, SPLITS = 8192, 256, 8

local head = call('HMGET', meta, 'generation', 'last', 'leaves')
if call('HGET', leases, '') ~= head[1] then return {} end
if head[1] ~= ARGV[1] then return {head[1] or ''} end
-- After a failover that lost the end of the log, its positions are not used again.
local first = math.max(tonumber(head[2]), tonumber(ARGV[2]))
local leaf_count, half = tonumber(head[3] or LEAVES), LEAVES
if not (first >= 0 and first < POSITIONS) then return {} end
if not (leaf_count >= LEAVES and leaf_count <= POSITIONS / LOAD) then return {} end
-- Leaves before the last doubling that was begun: those from here on came by it.
while 2 * half <= leaf_count do half = 2 * half end
local last, effort, leaf_prefix = first, 0, prefix .. head[1] .. ';'
local entries, counts, leaves, added, appended = {}, {}, {}, {}, {}

-- Entries and their states.

local function group_of(position)
  return prefix .. head[1] .. ':' .. floor(position / GROUP)
end

-- Return the entry at a position, false if it is gone.
local function entry_at(position)
  if entries[position] == nil then
    local entry = call('LINDEX', group_of(position), position % GROUP)
    entries[position] = entry ~= '' and entry
  end
  return entries[position]
end

local function lease_at(position)
  return call('HGET', leases, position) or ''
end

local function run_of(entry)
  local run = 0
  for i = 2, math.min(1 + byte(entry), 5, #entry) do run = 256 * run + byte(entry, i) end
  return run
end

local function count(run, by)
  counts[run] = (counts[run] or 0) + by
end

-- Note run and lease of an entry; return the run as an entry has it.
local function noted(position, run, lease)
  count(run, 1)
  if lease ~= '' then
    call('HSET', leases, position, lease)
  else
    call('HDEL', leases, position)
  end
  local packed = string.gsub(encode('>I4', run), '^%z+', '')
  return char(#packed) .. packed
end

-- Give an entry another run and lease, or delete it.
local function write(position, run, lease)
  local entry, after = entry_at(position), ''
  count(run_of(entry), -1)
  if run then
    after = noted(position, run, lease) .. sub(entry, 2 + byte(entry))
  else
    call('HDEL', leases, position)
  end
  if after ~= entry then call('LSET', group_of(position), position % GROUP, after) end
end

-- What is near.

-- Return the name of the leaf of a value, given where the value stands in a look.
local function leaf_of(look, j)
  local name = sub(look, j, j + 2)
  if leaf_count == LEAVES then return name end
  local low, high = decode('>I2I3', look, j + 1)
  local n = (low + high * 256) % (2 * half)
  if n >= leaf_count then n = n - half end
  return n < LEAVES and name or name .. char(floor(n / LEAVES))
end

-- Return the names of the leaves of a look, by where their values stand; read those leaves.
local function leaves_of(look)
  local names, wanted, keys = {}, {}, {}
  for j = width + 1, #look, 6 do
    local name = leaf_of(look, j)
    names[j] = name
    if not leaves[name] then
      wanted[#wanted + 1], keys[#keys + 1] = name, leaf_prefix .. name
    end
  end
  if #keys > 0 then
    for i, content in ipairs(call('MGET', unpack(keys))) do leaves[wanted[i]] = content or '' end
  end
  return names
end

-- Return the positions in the bucket of a value since a position, the newest first and `limit` at
-- most, given its leaf, and where the value stands in a look.
local function bucket(content, look, j, since, limit)
  local tag, low = sub(look, j + 3, j + 4), byte(look, j + 5) * 16777216
  local positions, stop, size = {}, #content - #content % 6, 6 * limit
  while stop > 0 do
    local start, found = math.max(stop - size, 0), {}
    local i = find(content, tag, start + 1, true)
    while i and i <= stop do
      local offset = (i - 1) % 6
      if offset == 0 then
        local position = decode('>I4', content, i + 2) - low
        if position >= since and position >= 0 and position < POSITIONS then
          found[#found + 1] = position
        end
      end
      i = find(content, tag, i + 6 - offset, true)
    end
    for k = #found, 1, -1 do
      positions[#positions + 1] = found[k]
      if #positions == limit then return positions end
    end
    -- What stands before an older entry is older still.
    if decode('>I4', content, start + 3) % POSITIONS < since then return positions end
    stop, size = start, 2 * size
  end
  return positions
end

local bits, words = nil, {}
-- Return the distance between the fingerprints of a look and an entry, nothing beyond the reach.
local function apart(look, entry, is_named)
  if not bits then
    bits = {[0] = 0}
    for i = 1, 255 do bits[i] = bits[floor(i / 2)] + i % 2 end
  end
  words[look] = words[look] or {byte(look, 1, width)}
  local at, of_look, distance = 1 + byte(entry), words[look], 0
  if #entry < at + width then return nil end
  for i = 1, width, 4 do
    local a, b, c, d = byte(entry, at + i, at + i + 3)
    distance = distance + bits[xor(of_look[i], a)] + bits[xor(of_look[i + 1], b)]
      + bits[xor(of_look[i + 2], c)] + bits[xor(of_look[i + 3], d)]
    if distance > reach and not is_named then return nil end
  end
  return distance
end

-- Return distance and position of what is near a page, or has one of its keys, since a position.
local function near(look, since)
  local names, told, result = leaves_of(look), {}, {}
  for j = #look - 5, width + 1, -6 do  -- keys come first: what has one is told at any distance
    local is_of_key = byte(look, j) == blocks
    local limit = is_of_key and KEY_LIMIT or BUCKET_LIMIT
    for _, position in ipairs(bucket(leaves[names[j]], look, j, since, limit)) do
      if not told[position] then
        told[position], effort = true, effort + 1
        local entry = entry_at(position)
        local distance = entry and apart(look, entry, is_of_key)
        if distance then result[#result + 1], result[#result + 2] = distance, position end
      end
    end
  end
  return result
end

-- Read the parts, and find what stands against them.

local at = 8
local function take(size)
  at = at + size
  return at - size
end
local parts, firsts, found, positions, told, rows = {}, {}, {}, {}, {}, {}

-- Return whether an entry is there, with a run and a lease.
local function is_as(position, run, lease)
  local entry = entry_at(position)
  return entry and run_of(entry) == tonumber(run) and lease_at(position) == lease
end

-- Tell of an entry, once, if it is there.
local function tell(position)
  if not told[position] and entry_at(position) then
    told[position] = true
    positions[#positions + 1] = position
    rows[#rows + 1], rows[#rows + 2] = lease_at(position), entry_at(position)
  end
end

while at <= #ARGV do
  local looks, checks, new, writes, since = decode('>I2I2I2I2I4', ARGV[take(1)])
  local part = {new = new, writes = writes, looks = at, fate = 0}
  local known = {}
  if effort > EFFORT then part.fate = -2 end
  for i = take(looks), at - 1 do
    if part.fate > -2 and since <= first then
      known[i] = near(ARGV[i], since)
      if #known[i] > 0 then part.fate = -1 end
    end
  end
  local checked = take(3 * checks)
  for i = checked, at - 3, 3 do
    local position, run, lease = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
    if part.fate == 0 and not is_as(position, run, lease) then part.fate = -1 end
  end
  if part.fate == -1 then
    for i = checked, at - 3, 3 do tell(tonumber(ARGV[i])) end
    for i = part.looks, checked - 1 do
      found[#found + 1] = since <= 1 and known[i] or near(ARGV[i], 0)
      for k = 2, #found[#found], 2 do tell(found[#found][k]) end
    end
  end
  part.rest = at
  take(4 * new + 3 * writes)
  parts[#parts + 1] = part
end

-- Write the others.

for n, part in ipairs(parts) do
  firsts[n] = part.fate == 0 and last + 1 or part.fate
  at = part.rest
  if part.fate == 0 then
    for i = take(4 * part.new), at - 4, 4 do
      last = last + 1
      if last >= POSITIONS then return redis.error_reply('SIMHASH the log is full') end
      local look = ARGV[part.looks + ARGV[i]]
      local run = noted(last, tonumber(ARGV[i + 1]), ARGV[i + 2])
      appended[last - first] = run .. sub(look, 1, width) .. ARGV[i + 3]
      -- Behind the value of the key stand those of aliases, by which the page is not found.
      for j = width + 1, width + 6 * (blocks + 1), 6 do
        local name = leaf_of(look, j)
        local entry = sub(look, j + 3, j + 4) .. encode('>I4', byte(look, j + 5) * 16777216 + last)
        added[name] = (added[name] or '') .. entry
      end
    end
    for i = take(3 * part.writes), at - 3, 3 do
      write(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), ARGV[i + 2])
    end
  end
end

-- Return a leaf in which the newest entries of each bucket stay.
local function squeezed(content)
  local extra, kept = {}, {}
  for turn = 0, 1 do
    for i = 1, #content - 5, 6 do
      local tag = sub(content, i, i + 1) .. floor(byte(content, i + 2) / 32)
      if turn == 1 and extra[tag] <= 0 then kept[#kept + 1] = sub(content, i, i + 5) end
      extra[tag] = (extra[tag] or -KEY_LIMIT) + 1 - 2 * turn
    end
  end
  return table.concat(kept)
end

for name, more in pairs(added) do
  local key = leaf_prefix .. name
  local size = call('APPEND', key, more)
  local before = floor((size - #more) / (6 * KEY_LIMIT))
  if size >= 12 * KEY_LIMIT and floor(size / (6 * KEY_LIMIT)) > before then
    call('SET', key, squeezed(call('GET', key)))
  end
end

-- Return the key of a leaf of a block, as leaf_of names it.
local function key_of(block, n)
  local name = leaf_prefix .. char(block) .. encode('>I2', n % LEAVES)
  return n < LEAVES and name or name .. char(floor(n / LEAVES))
end

-- Split a leaf of each block by the next bit of its values.
local function split()
  for block = 0, blocks do
    local old, kept, moved = key_of(block, leaf_count - half), {}, {}
    local content = call('GET', old) or ''
    for i = 1, #content - 5, 6 do
      local is_moved = floor(decode('>I3', content, i) * 256 / half) % 2 == 1
      local some = is_moved and moved or kept
      some[#some + 1] = sub(content, i, i + 5)
    end
    if #moved > 0 then
      call('SET', old, table.concat(kept))
      call('SET', key_of(block, leaf_count), table.concat(moved))
    end
  end
  leaf_count = leaf_count + 1
  if leaf_count == 2 * half then half = leaf_count end
end

local leaves_wanted = math.min(last / LOAD, leaf_count + SPLITS)
if leaf_count < leaves_wanted then
  while leaf_count < leaves_wanted do split() end
  call('HSET', meta, 'leaves', leaf_count)
end

local done = first
while done < last do
  local key, slot = group_of(done + 1), (done + 1) % GROUP
  -- It ends elsewhere if a script ended in the middle, or if positions have jumped.
  local size = call('LLEN', key)
  for _ = size, slot + 1, -1 do call('RPOP', key) end
  for _ = size, slot - 1 do call('RPUSH', key, '') end
  local count = math.min(last - done, GROUP - slot)
  call('RPUSH', key, unpack(appended, done - first + 1, done - first + count))
  done = done + count
end
if last > tonumber(head[2]) then call('HSET', meta, 'last', last) end
for run, by in pairs(counts) do
  if by ~= 0 then call('HINCRBY', meta, run .. ':pages', by) end
end
local time = call('TIME')
return {head[1], last, time[1], time[2], firsts, found, positions, rows}
