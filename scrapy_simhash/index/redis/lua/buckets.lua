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
-- ARGV[3] is how many pages a block has, as far as the caller knows; the finder's arguments of a page
-- are the names of its bucket pages, and the last 24 bits of its block values.
local count, seen = tonumber(state[3]), nil
local _, depth = math.frexp(count)
depth = depth - 1
local turn, known = count - 2 ^ depth, tonumber(ARGV[3])
local NAMES, TAGS = ('c4'):rep(BLOCKS), ('c3'):rep(BLOCKS)
-- Contents of bucket pages that this script has changed; false if one is no more.
local changed = {}
-- Names and contents of the bucket pages of the page that was looked at last, and its tags.
local names, contents, tags

local function refusal()
  return (known > count or known < 2 ^ depth) and {'pages', count}
end

local function name_of(block, number)
  return char(block, floor(number / 65536), floor(number / 256) % 256, number % 256)
end

local function page_of(name)
  local content = changed[name]
  if content == nil then content = call('HGET', buckets, name) end
  return content
end

-- Return whether an entry, or a tag, of a page of row `depth` belongs to the page's second child: the
-- bit of the value after the first `depth` ones, of which 8 are not in the tag.
local PLACE, HALF = floor((depth - 8) / 8) + 1, 2 ^ ((31 - depth) % 8)
local function is_high(entry)
  return byte(entry, PLACE) % (2 * HALF) >= HALF
end

-- Return the name of a page after those splits that its caller did not know of.
local function name_now(name, tag)
  local block, a, b, c = byte(name, 1, 4)
  local number = a * 65536 + b * 256 + c
  if number >= 2 ^ depth + turn then return name end
  return name_of(block, 2 * number + (is_high(tag) and 1 or 0))
end

local function split(block)
  local name, low, high = name_of(block, 2 ^ depth + turn), {}, {}
  local content = page_of(name)
  if not content then return end
  local size, lows, highs = #content / ENTRY, 0, 0
  local entries = {struct.unpack(('c' .. ENTRY):rep(size), content)}
  for i = 1, size do
    local entry = entries[i]
    if byte(entry, PLACE) % (2 * HALF) < HALF then
      lows = lows + 1
      low[lows] = entry
    else
      highs = highs + 1
      high[highs] = entry
    end
  end
  changed[name] = false
  if lows > 0 then changed[name_of(block, 2 * (2 ^ depth + turn))] = concat(low) end
  if highs > 0 then changed[name_of(block, 2 * (2 ^ depth + turn) + 1)] = concat(high) end
end

-- Note the positions of the entries of a bucket as candidates: those among the newest of its page.
-- Where one bucket is flooded, most are, with the same entries, so fewer of the others are read.
local noted
local function note(candidates, content, tag)
  local window = noted < BUCKET_LIMIT and BUCKET_LIMIT or FEW
  local first = math.max(#content - window * ENTRY, 0) + 1
  local at = find(content, tag, 1, true)
  if at < first and at % ENTRY == 1 then
    flooded = flooded + 1
  end
  if at < first then at = find(content, tag, first, true) end
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
end

-- Read the bucket pages of a page whose arguments begin at a place.
local function look_at(at)
  names, tags = {struct.unpack(NAMES, ARGV[at])}, {struct.unpack(TAGS, ARGV[at + 1])}
  contents = call('HMGET', buckets, unpack(names, 1, BLOCKS))
  for j = 1, BLOCKS do
    local content = changed[names[j]]
    if content == nil then content = contents[j] end
    if not content and known < count then
      names[j] = name_now(names[j], tags[j])
      content = page_of(names[j])
    end
    contents[j] = content
    -- Strings of Lua cost about as much as a comparison for each half kilobyte.
    effort = effort + (content and #content / 512 or 0)
  end
end

-- Return the distances of the entries near a page, by position; nothing if there is none.
local function near_ones(fingerprint, at)
  local candidates, near, own = nil, nil, nil
  noted = 0
  look_at(at)
  for j = 1, BLOCKS do
    if contents[j] and find(contents[j], tags[j], 1, true) then
      candidates = candidates or {}
      note(candidates, contents[j], tags[j])
    end
  end
  for position, inline in pairs(candidates or {}) do
    own = own or bytes_of(fingerprint)
    local other = inline or record_of(position)
    local d = #other >= WIDTH and apart(own, other, 0)
    if d and (not inline or finish <= 16777216 or record_of(position) == inline) then
      near = near or {}
      near[position] = d
    end
  end
  return near
end

-- Put an entry into the buckets of the page that was looked at last.
local function note_entry(position, fingerprint)
  local low = position % 16777216
  local suffix = char(floor(low / 65536), floor(low / 256) % 256, low % 256)
  if ENTRY > 6 then suffix = suffix .. fingerprint end
  for j = 1, BLOCKS do
    local content, tag = contents[j], tags[j]
    if not content then
      changed[names[j]] = tag .. suffix
    else
      if #content >= PAGE_LIMIT * ENTRY then
        -- The oldest entry of the same bucket goes, or of the page.
        local oldest = find(content, tag, 1, true) or 1
        oldest = oldest % ENTRY == 1 and oldest or 1
        content = sub(content, 1, oldest - 1) .. sub(content, oldest + ENTRY)
      end
      changed[names[j]] = content .. tag .. suffix
    end
  end
end

local function save_entries()
  local most = math.min(count + 8, 2 ^ (depth + 1), MOST_PAGES)
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

-- Return what the caller learns for its next call.
local function lesson()
  return string.format('%d', count)
end
