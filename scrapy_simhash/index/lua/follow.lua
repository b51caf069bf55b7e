-- Return what the log holds after a position: head, flushed, the fingerprint before flushed, and
-- those from the greater of both positions on. Nothing if the log is not the one that the caller has seen.
-- ARGV: width, seen, last fingerprint seen
local width, seen = tonumber(ARGV[1]), tonumber(ARGV[2])
local state = redis.call('HMGET', KEYS[1], 'flushed', 'last', 'head')
local flushed = tonumber(state[1])
if not flushed then return {} end
if seen == flushed then
  if seen > 0 and state[2] ~= ARGV[3] then return {} end
elseif seen > flushed then
  local at = (seen - flushed - 1) * width
  if redis.call('GETRANGE', KEYS[2], at, at + width - 1) ~= ARGV[3] then return {} end
end
local first = math.max(seen - flushed, 0) * width
local news = redis.call('GETRANGE', KEYS[2], first, -1)
return {state[3] or '', state[1], state[2] or '', news}
