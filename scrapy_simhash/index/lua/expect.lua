-- Note pages that a worker is about to get, unless they wait on an entry.
-- ARGV: worker, when that runs out, then key, request, ...
for i = 3, #ARGV, 2 do
  local key = ARGV[i]
  if not call('ZSCORE', waiters, key) then
    call('HSET', waiting, key .. ':r', ARGV[i + 1], key .. ':w', ARGV[1])
    call('HSETNX', waiting, key .. ':n', 0)
    call('ZADD', handed, ARGV[2], key)
  end
end
return 0
