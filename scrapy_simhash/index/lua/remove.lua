-- Delete entries, whoever has them; the pages waiting on them are for whoever asks for orphans.
-- ARGV: position, ...
for _, position in ipairs(ARGV) do
  for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
    call('ZREM', waiters, key)
    call('ZADD', handed, 0, key)
  end
  delete(position, '')
end
return 0
