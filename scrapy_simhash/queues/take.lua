-- Take the next request out of a queue and note that a crawler has it, in one step.
-- KEYS: queue, what the crawler has, crawlers, deaths
-- ARGV: command that takes one, command that puts it back there, crawler, when its lease runs out,
--   with how many deaths a request is crawled alone, requests that the crawler is done with, ...
-- Returns the request, or false.
for i = 6, #ARGV do
  redis.call('HDEL', KEYS[2], ARGV[i])
  redis.call('HDEL', KEYS[4], ARGV[i])
end

-- Which of some requests a crawler died of is known only if it had no other.
local function is_suspect(request)
  return tonumber(redis.call('HGET', KEYS[4], request) or 0) >= tonumber(ARGV[5])
end

local held = redis.call('HLEN', KEYS[2])
if held == 1 and is_suspect(redis.call('HKEYS', KEYS[2])[1]) then return false end
local request, score = redis.call(ARGV[1], KEYS[1]), ''
if type(request) == 'table' then request, score = request[1], request[2] end
if not request then return false end
if held > 0 and is_suspect(request) then
  if score == '' then redis.call(ARGV[2], KEYS[1], request)
  else redis.call('ZADD', KEYS[1], score, request) end
  return false
end
redis.call('HSET', KEYS[2], request, score)
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[3])
return request
