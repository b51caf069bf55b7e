-- Write each part that nothing stands against; tell what is near the pages of the others.
--
-- KEYS: meta, entries, leases, and what the leaves' keys begin with.
--   meta     hash: the header; "last": the last position; "<run>:pages": entries last seen in a run
--   entries  hash: "": the generation; number of a group -> its entries, each with its size (3 bytes, 0 if
--            it is gone); while a group is not complete, ":<position>" -> entry. An entry has the size of
--            its state (1 byte), the state that it has without a lease, fingerprint and body
--   leases   hash: "": the generation; position -> state of an entry in progress
--   leaves   strings: block (1 byte) and 12 bits of a value -> for each entry 20 more bits of its value,
--            and its position (28 bits), the oldest first
-- ARGV: generation, last position that the caller knows of, bytes of a fingerprint, reach, number of
-- blocks, entries that are read of a bucket; then for each part a number of its looks, checks, new entries,
-- writes and deletions, 2 bytes each, and `since`, and for each
--   look      fingerprint, and values, those of blocks and keys: block (1 byte), leaf (2), 20 bits, 4 bits 0
--   check     position, state
--   new       number of its look, bytes of that without aliases, state, body
--   write     position, state
--   deletion  position
-- Returns generation, last position, time (2), for each part its first new position (-1: refused, -2: not looked
-- at), for each look of a refused one distances and positions of what is near, these positions, their states and
-- entries. One item is another generation, none is a damaged index.
local meta, entries, leases, leaf = unpack(KEYS)
local call, sub, find, char, byte = redis.call, string.sub, string.find, string.char, string.byte
local decode, encode, floor = struct.unpack, struct.pack, math.floor
local width, reach, blocks, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
-- Positions in one field; entries that are read of a bucket where another one is full; comparisons after which
-- no other part is looked at; positions.
local GROUP, FEW, EFFORT, POSITIONS = 8, 32, 10000, 2 ^ 28

local head = call('HMGET', meta, 'generation', 'last')
if call('HGET', entries, '') ~= head[1] or call('HGET', leases, '') ~= head[1] then return {} end
if head[1] ~= ARGV[1] then return {head[1] or ''} end
-- After a failover that lost the end of the log, its positions are not used again.
local first = math.max(tonumber(head[2]), tonumber(ARGV[2]))
if not (first >= 0 and first < POSITIONS) then return {} end
local last, effort = first, 0
local groups, changed, counts, leaves, added = {}, {}, {}, {}, {}

-- Return the entries of a group by slot.
local function group_of(position)
  local n = floor(position / GROUP)
  if groups[n] then return groups[n], position % GROUP, n end
  local group, names, at = {}, {}, 1
  local packed = n * GROUP + GROUP - 1 <= first and call('HGET', entries, n)
  for slot = 0, GROUP - 1 do
    names[slot + 1] = ':' .. n * GROUP + slot
    if packed and at + 2 <= #packed then
      local size = decode('>I3', packed, at)
      if size > 0 then group[slot] = sub(packed, at + 3, at + 2 + size) end
      at = at + 3 + size
    end
  end
  if not packed then
    for slot, entry in ipairs(call('HMGET', entries, unpack(names))) do group[slot - 1] = entry or nil end
  end
  groups[n] = group
  return group, position % GROUP, n
end

local states = {}
local function state_of(position)
  if states[position] == nil then
    local group, slot = group_of(position)
    local entry = group[slot]
    states[position] = entry and (call('HGET', leases, position) or sub(entry, 2, 1 + byte(entry))) or false
  end
  return states[position]
end

local function count(state, by)
  local run = 0
  for i = 1, math.min(4, #state) do run = 256 * run + byte(state, i) end
  counts[run] = (counts[run] or 0) + by
end

-- Give an entry another state, or delete it.
local function write(position, state, body)
  local group, slot, n = group_of(position)
  local before, entry = state_of(position), group[slot]
  if before then count(before, -1) end
  if before and #before > 4 and not (state and #state > 4) then call('HDEL', leases, position) end
  if state then
    count(state, 1)
    if #state > 4 then
      call('HSET', leases, position, state)
      state = string.gsub(sub(state, 1, 4), '^%z+', '')
    end
    body = body or sub(entry, 2 + byte(entry))
    state = char(#state) .. state .. body
  end
  if entry ~= state then
    group[slot], changed[n] = state, changed[n] or {}
    changed[n][slot] = true
  end
end

-- Return how far the fingerprint of a look is from that of an entry, nothing if it is beyond reach.
local bits
local function apart(look, entry, is_any)
  if not bits then
    bits = {[0] = 0}
    for i = 1, 255 do bits[i] = bits[floor(i / 2)] + i % 2 end
  end
  local at, distance = 1 + byte(entry), 0
  if #entry < at + width then return nil end
  for i = 1, width do
    distance = distance + bits[bit.bxor(byte(look, i), byte(entry, at + i))]
    if distance > reach and not is_any then return nil end
  end
  return distance
end

-- Return distance and position of what is near a page, or has one of its keys, since a position.
local function near(look, since)
  local wanted = {}
  for j = width + 1, #look, 6 do
    local name = sub(look, j, j + 2)
    if not leaves[name] then wanted[#wanted + 1] = name end
  end
  if #wanted > 0 then
    local keys = {}
    for j, name in ipairs(wanted) do keys[j] = leaf .. name end
    for j, content in ipairs(call('MGET', unpack(keys))) do leaves[wanted[j]] = content or '' end
  end
  local told, result, read = {}, {}, 0
  for j = #look - 5, width + 1, -6 do  -- those of keys come first, and are told at any distance
    local content, tag, low = leaves[sub(look, j, j + 2)], sub(look, j + 3, j + 4), byte(look, j + 5) * 16777216
    local is_named, from, positions = byte(look, j) == blocks, 1, {}
    if not is_named and read >= most then from = math.max(#content - #content % 6 - 6 * FEW, 0) + 1 end
    if since > 1 then
      local i = #content - #content % 6 - 5
      while i >= from and decode('>I4', content, i + 2) % POSITIONS >= since do i = i - 6 end
      from = math.max(i + 6, from)
    end
    local i = find(content, tag, from, true)
    while i do
      if i % 6 == 1 and i + 5 <= #content then
        local position = decode('>I4', content, i + 2) - low
        if position >= since and position >= 0 and position < POSITIONS then positions[#positions + 1] = position end
      end
      i = find(content, tag, i + 1, true)
    end
    read = read + math.min(#positions, most)
    for k = math.max(#positions - most + 1, 1), #positions do
      local position = positions[k]
      if not told[position] then
        told[position], effort = true, effort + 1
        local group, slot = group_of(position)
        local distance = group[slot] and apart(look, group[slot], is_named)
        if distance then result[#result + 1], result[#result + 2] = distance, position end
      end
    end
  end
  return result
end

local at = 7
local function take(size)
  at = at + size
  return at - size
end
local parts, firsts, found, positions, there, rows = {}, {}, {}, {}, {}, {}
while at <= #ARGV do
  local looks, checks, new, writes, gone, since = decode('>I2I2I2I2I2I4', ARGV[take(1)])
  local part = {new = new, writes = writes, gone = gone, looks = at, fate = 0}
  local known = {}
  if effort > EFFORT then part.fate = -2 end
  for i = take(looks), at - 1 do
    if part.fate > -2 and since <= first then
      known[i] = near(ARGV[i], since)
      if #known[i] > 0 then part.fate = -1 end
    end
  end
  for i = take(2 * checks), at - 2, 2 do
    if part.fate == 0 and state_of(tonumber(ARGV[i])) ~= ARGV[i + 1] then part.fate = -1 end
  end
  for i = part.looks, part.looks + (part.fate == -1 and looks or 0) - 1 do
    local some = since <= 1 and known[i] or near(ARGV[i], 0)
    for k = 2, #some, 2 do
      local position = some[k]
      if not there[position] then
        there[position] = true
        local group, slot = group_of(position)
        positions[#positions + 1] = position
        rows[#rows + 1], rows[#rows + 2] = state_of(position), group[slot]
      end
    end
    found[#found + 1] = some
  end
  part.rest = at
  take(4 * new + 2 * writes + gone)
  parts[#parts + 1] = part
end

-- Of each bucket the newest entries stay.
local function squeezed(content)
  local extra, kept = {}, {}
  for turn = 0, 1 do
    for i = 1, #content - 5, 6 do
      local tag = sub(content, i, i + 1) .. floor(byte(content, i + 2) / 16)
      if turn == 1 and extra[tag] <= 0 then kept[#kept + 1] = sub(content, i, i + 5) end
      extra[tag] = (extra[tag] or -most) + 1 - 2 * turn
    end
  end
  return table.concat(kept)
end

for n, part in ipairs(parts) do
  firsts[n] = part.fate == 0 and last + 1 or part.fate
  at = part.rest
  if part.fate == 0 then
    for i = take(4 * part.new), at - 4, 4 do
      last = last + 1
      if last >= POSITIONS then return redis.error_reply('SIMHASH the log is full') end
      states[last] = false
      write(last, ARGV[i + 2], ARGV[i + 3])
      local look = ARGV[part.looks + ARGV[i]]
      for j = width + 1, tonumber(ARGV[i + 1]), 6 do
        local name = sub(look, j, j + 2)
        local entry = sub(look, j + 3, j + 4) .. encode('>I4', byte(look, j + 5) * 16777216 + last)
        added[name] = (added[name] or '') .. entry
      end
    end
    for i = take(2 * part.writes), at - 2, 2 do write(tonumber(ARGV[i]), ARGV[i + 1]) end
    for i = take(part.gone), at - 1 do write(tonumber(ARGV[i])) end
  end
end

for name, more in pairs(added) do
  local size = call('APPEND', leaf .. name, more)
  local before = floor((size - #more) / (6 * most))
  if size >= 12 * most and floor(size / (6 * most)) > before then
    call('SET', leaf .. name, squeezed(call('GET', leaf .. name)))
  end
end
for n, slots in pairs(changed) do
  local base, packed, names = n * GROUP, {}, {}
  if base + GROUP - 1 <= last then
    for slot = 0, GROUP - 1 do
      local entry = groups[n][slot] or ''
      packed[slot + 1] = encode('>I3', #entry) .. entry
      if base + slot <= first then names[#names + 1] = ':' .. base + slot end
    end
    call('HSET', entries, n, table.concat(packed))
    if base + GROUP - 1 > first and #names > 0 then call('HDEL', entries, unpack(names)) end
  else
    for slot in pairs(slots) do
      local entry = groups[n][slot]
      if entry then call('HSET', entries, ':' .. base + slot, entry) else call('HDEL', entries, ':' .. base + slot) end
    end
  end
end
if last > tonumber(head[2]) then call('HSET', meta, 'last', last) end
for run, by in pairs(counts) do
  if by ~= 0 then call('HINCRBY', meta, run .. ':pages', by) end
end
local time = call('TIME')
return {head[1], last, time[1], time[2], firsts, found, positions, rows}
