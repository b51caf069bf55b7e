-- Finds what is near a page, through buckets in Redis.
--
-- The entries whose block values begin with the same bits share a *leaf*:
--
--   name     number of the block, 1 byte | 1 and the first bits of the value, as 4 bytes; after the
--            blocks comes the one of the keys
--   content  entry | entry | ..., the oldest first
--   entry    last bits of the value | position | of 64 bits the fingerprint. Value and position have 3
--            bytes each. From row 16 on, where a name has half of the value, they have 2 and 4; until
--            then the log is shorter than 3 bytes can tell
--
-- The leaves of a block are the leaves of a binary tree, whose nodes are numbered from the root on: the
-- children of n are 2 n and 2 n + 1. Whenever the log has grown by LEAF_ENTRIES, one leaf is split, in
-- the order of their numbers (linear hashing, Litwin 1980). So in row `depth` of the tree the first
-- `turn` leaves are split.
-- The finder's argument of a page has 4 bytes for each value: those of its blocks, of its key, and of
-- its other keys.
local count = tonumber(state[3])
if not (count >= LEAST_LEAVES and count <= 2 * MOST_LEAVES) then error('there are no such leaves') end
local depth = select(2, math.frexp(count)) - 1
local first = 2 ^ depth
local turn = count - first
-- The leaves of row `depth`, and of the next one, have so many values each, and values below the last
-- number stand in leaves of the next row.
local ROW, NEXT = 2 ^ (32 - depth), 2 ^ (31 - depth)
local SPLIT = turn * ROW
local BLOCK = 4294967296
-- The first leaf of which the entries have 2 bytes of the value.
local WIDE = 65536
-- Names and contents of the leaves of the page that was looked at last, and its tags.
local names, contents, tags

-- Read the leaves of a page with these block values.
local function look_at(values)
  local size, block = #values / 4, 0
  local numbers = {struct.unpack('>' .. ('I4'):rep(size), values)}
  for j = 1, size do
    local value = numbers[j]
    if value < SPLIT then
      numbers[j] = block + 2 * first + (value - value % NEXT) / NEXT
    else
      numbers[j] = block + first + (value - value % ROW) / ROW
    end
    if j <= BLOCKS then block = block + BLOCK end
  end
  local packed = struct.pack('>' .. ('I5'):rep(size), unpack(numbers, 1, size))
  names = {struct.unpack(('c5'):rep(size), packed)}
  if first >= WIDE or count <= WIDE / 2 then
    tags = {struct.unpack((first >= WIDE and 'xxc2' or 'xc3'):rep(size), values)}
  else
    tags = {}
    for j = 1, size do
      tags[j] = sub(values, numbers[j] % BLOCK >= WIDE and 4 * j - 1 or 4 * j - 2, 4 * j)
    end
    tags[size + 1] = 0
  end
  contents = call('HMGET', buckets, unpack(names, 1, size))
end

-- Note the positions of the entries of a bucket as candidates. Where one bucket is flooded, most are,
-- with the same entries, so fewer of the others are read.
local function note(candidates, noted, content, tag)
  local start = noted < BUCKET_LIMIT and 1 or math.max(#content - FEW * ENTRY, 0) + 1
  if #content >= BUCKET_LIMIT * ENTRY then flooded = flooded + 1 end
  local at = find(content, tag, start, true)
  while at do
    if at % ENTRY == 1 then
      noted = noted + 1
      local a, b, c, d = byte(content, at + 2, at + 5)
      local position = (#tag == 2 and a * 16777216 or 0) + b * 65536 + c * 256 + d
      -- A script that failed may have left an entry of a page that never came into the log.
      if position < finish then
        candidates[position] = ENTRY > 6 and sub(content, at + 6, at + 5 + WIDTH)
      end
    end
    at = find(content, tag, at + 1, true)
  end
  return noted
end

-- Return the distances of the entries near a page, or with one of its keys, by position, and the
-- positions of the latter; if asked for, none but these.
local function near_ones(fingerprint, values, are_named)
  look_at(values)
  local near, noted, contents, tags = {}, 0, contents, tags
  local by_block, by_key, own = {}, {}, nil
  for j = 1, #tags - 1 do
    local content, tag = contents[j], tags[j]
    if content and (j > BLOCKS or not are_named) and find(content, tag, 1, true) then
      own = own or {byte(fingerprint, 1, WIDTH)}
      if j <= BLOCKS then
        noted = note(by_block, noted, content, tag)
      else
        note(by_key, 0, content, tag)
      end
    end
  end
  for is_any, candidates in pairs({[false] = by_block, [true] = by_key}) do
    for position, inline in pairs(candidates) do
      effort = effort + 2
      local d = apart(own, inline or record_of(position), is_any)
      -- Another page may have come to its place since.
      if d and (not inline or record_of(position) == inline) then near[position] = d end
    end
  end
  return near, by_key
end

-- Put an entry into the buckets of the page that was looked at last.
local function note_entry(position, fingerprint)
  local suffix = struct.pack('>I4', position) .. (ENTRY > 6 and fingerprint or '')
  local suffixes = {[2] = suffix, [3] = sub(suffix, 2)}
  local written, names, contents, tags, size = {}, names, contents, tags, 0
  for j = 1, BLOCKS + 1 do
    local content, tag = contents[j] or '', tags[j]
    if #content >= BUCKET_LIMIT * ENTRY then
      -- The oldest entry of the same bucket goes, or of the leaf.
      local oldest = find(content, tag, 1, true) or 1
      oldest = oldest % ENTRY == 1 and oldest or 1
      content = sub(content, 1, oldest - 1) .. sub(content, oldest + ENTRY)
    end
    size = size + #content
    written[2 * j - 1], written[2 * j] = names[j], content .. tag .. suffixes[#tag]
  end
  effort = effort + size / 128
  call('HSET', buckets, unpack(written))
end

-- Return entries with 2 bytes of the value in place of 3.
local function widened(entries)
  local parts = {}
  for at = 1, #entries, ENTRY do
    parts[#parts + 1] = sub(entries, at + 1, at + 2) .. '\0' .. sub(entries, at + 3, at + ENTRY - 1)
  end
  return concat(parts)
end

-- Split the next leaf of every block: by the bit of the value after the first `depth` ones, of which
-- 8 or 16 are not in the entries. Entries move in runs, because each text costs time.
local function split()
  local before, half = floor(depth / 8) - (depth < 16 and 1 or 2), 2 ^ (7 - depth % 8)
  local full = 2 * half
  for block = 0, BLOCKS * BLOCK, BLOCK do
    local parent, child = struct.pack('>I5', block + count), block + 2 * count
    local content = call('HGET', buckets, parent) or ''
    local zeros, ones, from, is_one = {}, {}, 1, false
    local run = zeros
    for at = 1, #content, ENTRY do
      if byte(content, at + before) % full >= half ~= is_one then
        run[#run + 1] = sub(content, from, at - 1)
        from, is_one = at, not is_one
        run = is_one and ones or zeros
      end
    end
    run[#run + 1] = sub(content, from)
    local left, right = concat(zeros), concat(ones)
    if depth == 15 then left, right = widened(left), widened(right) end
    call('HDEL', buckets, parent)
    call('HSET', buckets, struct.pack('>I5', child), left, struct.pack('>I5', child + 1), right)
  end
  count, turn = count + 1, turn + 1
  call('HSET', meta, 'leaves', count)
end

-- Split as many leaves as the log has grown for; few in one call, so that it ends soon.
local function grow()
  local most = math.min(count + 2, 2 * first, MOST_LEAVES)
  while count < most and finish + #records > LEAF_ENTRIES * count do split() end
end
