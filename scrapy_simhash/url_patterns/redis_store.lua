-- Add counts to rows of address patterns; the rows changed longest ago go.
-- KEYS: rows, names by version. ARGV: rows to keep, milliseconds since 1970,
-- then for each row its name, five counts, a mark and an example.
local rows, changed = KEYS[1], KEYS[2]
local last = redis.call('ZREVRANGE', changed, 0, 0, 'WITHSCORES')
local version = math.max(tonumber(last[2] or 0), tonumber(ARGV[2]))
for at = 3, #ARGV, 8 do
  local name, mark, example = ARGV[at], ARGV[at + 6], ARGV[at + 7]
  local stored = redis.call('HGET', rows, name) or '0 0 0 0 0\n\n'
  local numbers, old_mark, old_example = string.match(stored, '^(.-)\n(.-)\n(.*)$')
  local sums, field = {}, 0
  for number in string.gmatch(numbers, '%S+') do
    field = field + 1
    sums[field] = string.format('%.0f', tonumber(number) + tonumber(ARGV[at + field]))
  end
  if mark == '' then mark = old_mark end
  if example == '' then example = old_example end
  redis.call('HSET', rows, name, table.concat(sums, ' ') .. '\n' .. mark .. '\n' .. example)
  version = version + 1
  redis.call('ZADD', changed, string.format('%.0f', version), name)
end
local gone = redis.call('ZCARD', changed) - tonumber(ARGV[1])
if gone > 0 then
  -- A call that is small ends soon; the next one goes on.
  for _, name in ipairs(redis.call('ZRANGE', changed, 0, math.min(gone, 1000) - 1)) do
    redis.call('HDEL', rows, name)
    redis.call('ZREM', changed, name)
  end
end
