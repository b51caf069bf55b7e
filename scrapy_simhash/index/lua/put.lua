-- Put entries into their bucket pages, except where they are already.
-- KEYS: hash of pages. ARGV: bytes that a page may have, field, entry, field, entry, ...
-- Returns how many found their page full.
local crowded = 0
for i = 2, #ARGV, 2 do
  local page = redis.call('HGET', KEYS[1], ARGV[i])
  if not page then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  elseif not page:find(ARGV[i + 1], 1, true) then
    if #page < tonumber(ARGV[1]) then
      redis.call('HSET', KEYS[1], ARGV[i], page .. ARGV[i + 1])
    else
      crowded = crowded + 1
    end
  end
end
return crowded
