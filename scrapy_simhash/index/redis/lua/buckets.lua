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
-- Contents of bucket pages that this script has changed; false if one is no more.
local changed = {}
-- Names and contents of the bucket pages of the page that was looked at last, and its tags.
local names, contents, tags

-- Read the bucket pages of a page with these block values.
local function look_at(values)
  local numbers, size = {struct.unpack(VALUES, values)}, 0
  for j = 1, BLOCKS do
    local number = floor(numbers[j] / ROW)
    if number < turn then number = floor(numbers[j] / NEXT) + first end
    numbers[j] = (j - 1) * 16777216 + first + number
  end
  names = {struct.unpack(NAMES, struct.pack(VALUES, unpack(numbers)))}
  tags = {struct.unpack(TAGS, values)}
  contents = call('HMGET', buckets, unpack(names, 1, BLOCKS))
  for j = 1, BLOCKS do
    local content = changed[names[j]]
    if content == nil then content = contents[j] else contents[j] = content end
    size = size + (content and #content or 0)
  end
  -- Strings of Lua cost about as much as a comparison for each half kilobyte.
  effort = effort + size / 512
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
  local own = noted > 0 and bytes_of(fingerprint)
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
  for j = 1, BLOCKS do
    local content = contents[j] or ''
    if #content >= BUCKET_LIMIT * ENTRY then
      -- The oldest entry of the same bucket goes, or of the page.
      local oldest = find(content, tags[j], 1, true) or 1
      oldest = oldest % ENTRY == 1 and oldest or 1
      content = sub(content, 1, oldest - 1) .. sub(content, oldest + ENTRY)
    end
    changed[names[j]] = content .. tags[j] .. suffix
  end
end

-- Split the next page of a block: by the bit of the value after the first `depth` ones, of which 8
-- are not in the entries.
local function split(block)
  local number = first + turn
  local function name_of(child) return struct.pack('>I4', block * 16777216 + child) end
  local name, children = name_of(number), {[0] = {}, {}}
  local content = changed[name]
  if content == nil then content = call('HGET', buckets, name) end
  if not content then return end
  local place, weight = floor((depth - 8) / 8) + 1, 2 ^ ((31 - depth) % 8)
  for at = 1, #content, ENTRY do
    local child = children[floor(byte(content, at + place - 1) / weight) % 2]
    child[#child + 1] = sub(content, at, at + ENTRY - 1)
  end
  changed[name] = false
  for bit, child in pairs(children) do
    if #child > 0 then changed[name_of(2 * number + bit)] = concat(child) end
  end
end

local function save_entries()
  -- One call splits few pages, so that it ends soon.
  local most = math.min(count + 2, 2 ^ (depth + 1), MOST_PAGES)
  while count < most and finish + #records > PAGE_ENTRIES * count do
    for block = 0, BLOCKS - 1 do split(block) end
    count, turn = count + 1, turn + 1
    call('HSET', meta, 'pages', count)
  end
  local written, gone = {}, {}
  for name, content in pairs(changed) do
    if content then
      written[#written + 1] = name
      written[#written + 1] = content
    else
      gone[#gone + 1] = name
    end
  end
  -- As many as fit onto the stack of Lua.
  for i = 1, #written, 4000 do
    call('HSET', buckets, unpack(written, i, math.min(i + 3999, #written)))
  end
  if #gone > 0 then call('HDEL', buckets, unpack(gone)) end
end
