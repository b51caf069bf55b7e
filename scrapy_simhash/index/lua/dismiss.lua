-- Forget pages that a worker expects or was handed.
-- ARGV: worker, key, ...
for i = 2, #ARGV do
  local key = ARGV[i]
  if call('ZSCORE', handed, key) and call('HGET', waiting, key .. ':w') == ARGV[1] then
    forget_waiting(key)
  end
end
return 0
