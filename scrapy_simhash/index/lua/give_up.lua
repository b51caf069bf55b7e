-- Forget the hand-overs of pages to workers of one's spider: they need not be crawled again.
-- ARGV: worker, key, ...
for i = 2, #ARGV do
  local request = call('HGET', waiting, ARGV[i] .. ':r')
  if request and spider_of(request) == spider_of(ARGV[1]) and call('ZSCORE', handed, ARGV[i]) then
    forget_waiting(ARGV[i])
  end
end
return 0
