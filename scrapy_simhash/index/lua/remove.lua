-- Delete entries, whoever has them; the pages waiting on them are for whoever asks for orphans.
-- ARGV: position, fingerprint, ...
for i = 1, #ARGV, 2 do
  local entry = lease_of(ARGV[i])
  if not entry or entry.fingerprint == ARGV[i + 1] then
    for _, key in ipairs(call('ZRANGEBYSCORE', waiters, ARGV[i], ARGV[i])) do
      call('ZREM', waiters, key)
      call('ZADD', handed, 0, key)
    end
    delete(ARGV[i], ARGV[i + 1])
  end
end
return 0
