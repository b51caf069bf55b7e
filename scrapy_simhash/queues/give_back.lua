-- Put what a crawler has back into the queue, if its lease has run out.
-- KEYS: queue, what the crawler has, crawlers
-- ARGV: command that puts a request where the next is taken, crawler, now
-- Returns how many requests there were.
local expires = redis.call('ZSCORE', KEYS[3], ARGV[2])
if not expires or tonumber(expires) > tonumber(ARGV[3]) then return 0 end
local taken = redis.call('HGETALL', KEYS[2])
for i = 1, #taken, 2 do
  local request, score = taken[i], taken[i + 1]
  if score == '' then
    redis.call(ARGV[1], KEYS[1], request)
  else
    redis.call('ZADD', KEYS[1], score, request)
  end
end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return #taken / 2
