-- What is near a page, found through buckets in Redis.
--
-- The entries whose block values begin with the same bits share a *bucket page*:
--
--   name     number of the block, 1 byte | 1 and the first bits of the value, as 3 bytes
--   content  entry | entry | ..., the oldest first
--   entry    last 24 bits of the value | last 24 bits of the position | of 64 bits the fingerprint
--
-- So the pages of a block are the leaves of a binary tree, and their names its numbering from the
-- root on: the children of n are 2 n and 2 n + 1. Pages are split in the order of their names, one
-- whenever the log has grown by PAGE_ENTRIES, which is linear hashing (Litwin 1980): of the pages of
-- row `depth` the first `turn` ones are split.
-- The finder's argument of a page is its block values, 4 bytes each.
local count = tonumber(state[3])
local depth = select(2, math.frexp(count)) - 1
local first = 2 ^ depth
local turn = count - first
-- The pages of row `depth`, and of the next one, have so many values each.
local ROW, NEXT = 2 ^ (32 - depth), 2 ^ (31 - depth)
local VALUES, NAMES, TAGS = '>' .. ('I4'):rep(BLOCKS), ('c4'):rep(BLOCKS), ('xc3'):rep(BLOCKS)
-- Names and contents of the bucket pages of the page that was looked at last, and its tags.
local names, contents, tags

-- Return the names of bucket pages: a number for each block.
local function names_of(numbers)
  for j = 1, BLOCKS do numbers[j] = (j - 1) * 16777216 + numbers[j] end
  return {struct.unpack(NAMES, struct.pack(VALUES, unpack(numbers, 1, BLOCKS)))}
end

-- Read the bucket pages of a page with these block values.
local function look_at(values)
  local numbers = {struct.unpack(VALUES, values)}
  for j = 1, BLOCKS do
    local value = numbers[j]
    local number = (value - value % ROW) / ROW
    numbers[j] = number < turn and 2 * first + (value - value % NEXT) / NEXT or first + number
  end
  names, tags = names_of(numbers), {struct.unpack(TAGS, values)}
  contents = call('HMGET', buckets, unpack(names, 1, BLOCKS))
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
      local a, b, c = byte(content, at + 3, at + 5)
      -- The bits of a position that an entry lacks may be any.
      for position = a * 65536 + b * 256 + c, finish - 1, 16777216 do
        candidates[position] = ENTRY > 6 and sub(content, at + 6, at + 5 + WIDTH)
      end
    end
    at = find(content, tag, at + 1, true)
  end
  return noted
end

-- Return the distances of the entries near a page, by position.
local function near_ones(fingerprint, values)
  local candidates, near, noted = {}, {}, 0
  look_at(values)
  for j = 1, BLOCKS do
    if contents[j] and find(contents[j], tags[j], 1, true) then
      noted = note(candidates, noted, contents[j], tags[j])
    end
  end
  local own = noted > 0 and {byte(fingerprint, 1, WIDTH)}
  for position, inline in pairs(candidates) do
    effort = effort + 1
    local d = apart(own, inline or record_of(position))
    if d and (not inline or finish <= 16777216 or record_of(position) == inline) then
      near[position] = d
    end
  end
  return near
end

-- Put an entry into the buckets of the page that was looked at last.
local function note_entry(position, fingerprint)
  local suffix = struct.pack('>I3', position % 16777216) .. (ENTRY > 6 and fingerprint or '')
  local written = {}
  for j = 1, BLOCKS do
    local content, tag = contents[j] or '', tags[j]
    effort = effort + #content / 512
    if #content >= BUCKET_LIMIT * ENTRY then
      -- The oldest entry of the same bucket goes, or of the page.
      local oldest = find(content, tag, 1, true) or 1
      oldest = oldest % ENTRY == 1 and oldest or 1
      content = sub(content, 1, oldest - 1) .. sub(content, oldest + ENTRY)
    end
    written[2 * j - 1], written[2 * j] = names[j], content .. tag .. suffix
  end
  call('HSET', buckets, unpack(written, 1, 2 * BLOCKS))
end

-- Split the next page of every block: by the bit of the value after the first `depth` ones, of which
-- 8 are not in the entries.
local function split()
  local numbers, written = {}, {}
  local place, weight = math.floor(depth / 8), 2 ^ (7 - depth % 8)
  for j = 1, BLOCKS do numbers[j] = count end
  local parents = names_of(numbers)
  for j, content in ipairs(call('HMGET', buckets, unpack(parents, 1, BLOCKS))) do
    local children = {[0] = {}, {}}
    for at = 1, content and #content or 0, ENTRY do
      local child = children[byte(content, at + place - 1) % (2 * weight) < weight and 0 or 1]
      child[#child + 1] = sub(content, at, at + ENTRY - 1)
    end
    for bit, child in pairs(children) do
      local name = struct.pack('>I4', (j - 1) * 16777216 + 2 * count + bit)
      written[#written + 1], written[#written + 2] = name, concat(child)
    end
  end
  call('HDEL', buckets, unpack(parents, 1, BLOCKS))
  call('HSET', buckets, unpack(written))
  count, turn = count + 1, turn + 1
  call('HSET', meta, 'pages', count)
end

-- Split as many pages as the log has grown for; few in one call, so that it ends soon.
local function grow()
  local most = math.min(count + 2, 2 * first, MOST_PAGES)
  while count < most and finish + #records > PAGE_ENTRIES * count do split() end
end
