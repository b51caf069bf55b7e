-- Take the next request out of a queue and note that a crawler has it, in one step.
-- KEYS: queue, what the crawler has, crawlers
-- ARGV: command that takes one, crawler, when its lease runs out, requests that it is done with, ...
-- Returns the request, or false.
for i = 4, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
local request, score = redis.call(ARGV[1], KEYS[1]), ''
if type(request) == 'table' then request, score = request[1], request[2] end
if not request then return false end
redis.call('HSET', KEYS[2], request, score)
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
return request
