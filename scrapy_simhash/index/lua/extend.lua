-- Start the hand-overs to a worker anew.
-- ARGV: worker, when they run out, key, ...
for i = 3, #ARGV do
  local key = ARGV[i]
  if call('HGET', waiting, key .. ':w') == ARGV[1] then call('ZADD', handed, 'XX', ARGV[2], key) end
end
return 0
