-- Forget the oldest segments that were frozen before a time.
-- ARGV: that time, how many segments at most
-- Returns swept and head: what is between them is to be deleted.
local state = call('HMGET', meta, 'swept', 'head')
local segment = state[2] / SEGMENT
for _ = 1, tonumber(ARGV[2]) do
  local time = call('HGET', frozen, segment)
  if not time or tonumber(time) >= tonumber(ARGV[1]) then break end
  call('HINCRBY', dead, 'all', SEGMENT - (call('HGET', dead, segment) or 0))
  call('HDEL', dead, segment)
  call('HDEL', frozen, segment)
  segment = segment + 1
end
call('HSET', meta, 'head', segment * SEGMENT)
return {tonumber(state[1]), segment * SEGMENT}
