-- Put what a crawler has back into the queue, if its lease has run out.
-- KEYS: queue, what the crawler has, crawlers, deaths, set aside
-- ARGV: command that puts a request where the next is taken, crawler, now, with how many deaths a
--   request is set aside, 0 if the crawler lives
-- Returns how many requests were put back, and how many set aside.
local expires, most = redis.call('ZSCORE', KEYS[3], ARGV[2]), tonumber(ARGV[4])
if not expires or tonumber(expires) > tonumber(ARGV[3]) then return {0, 0} end
local taken, deadly = redis.call('HGETALL', KEYS[2]), 0
for i = 1, #taken, 2 do
  local request, score = taken[i], taken[i + 1]
  if most > 0 and redis.call('HINCRBY', KEYS[4], request, 1) >= most then
    redis.call('HDEL', KEYS[4], request)
    redis.call('HSET', KEYS[5], request, score)
    deadly = deadly + 1
  elseif score == '' then
    redis.call(ARGV[1], KEYS[1], request)
  else
    redis.call('ZADD', KEYS[1], score, request)
  end
end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return {#taken / 2 - deadly, deadly}
