-- Return the header of an index; a new one gets the header given.
-- flushed: where the tail begins. last: the fingerprint before that. head: where the log begins,
-- and swept: from where on its older parts may not be deleted yet. crowded: entries that found
-- their bucket full.
-- KEYS: meta. ARGV: field, value, ...
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'flushed', 0, 'last', '', 'head', 0, 'swept', 0, 'crowded', 0,
    unpack(ARGV))
end
return redis.call('HGETALL', KEYS[1])
