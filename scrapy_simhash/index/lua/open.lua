-- Return the header of an index; a new one gets the header given.
-- KEYS: meta. ARGV: field, value, ...
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'flushed', 0, 'last', '', unpack(ARGV))
end
return redis.call('HGETALL', KEYS[1])
