-- Put entries into their bucket pages, except where they are already, and take those out that lie
-- before the log's head.
-- KEYS: hash of pages. ARGV: bytes that a page may have, head, then field, entry, field, entry, ...
-- Returns how many found their page full.
local limit, head, crowded = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local pages, fields, changed = {}, {}, {}

-- The position of an entry is its first four bytes, the least significant first.
local function position(page, at)
  local a, b, c, d = page:byte(at, at + 3)
  return ((d * 256 + c) * 256 + b) * 256 + a
end

for i = 3, #ARGV, 2 do fields[#fields + 1] = ARGV[i] end
local found = redis.call('HMGET', KEYS[1], unpack(fields))
for i, field in ipairs(fields) do
  local entry = ARGV[2 + 2 * i]
  local page = pages[field] or found[i] or ''
  if head > 0 and page ~= '' and position(page, 1) < head then
    local kept = {}
    for at = 1, #page, #entry do
      if position(page, at) >= head then kept[#kept + 1] = page:sub(at, at + #entry - 1) end
    end
    page = table.concat(kept)
  end
  if not page:find(entry, 1, true) then
    if #page < limit then
      pages[field] = page .. entry
    else
      crowded = crowded + 1
    end
  end
end
for field, page in pairs(pages) do
  changed[#changed + 1] = field
  changed[#changed + 1] = page
end
if #changed > 0 then redis.call('HSET', KEYS[1], unpack(changed)) end
return crowded
