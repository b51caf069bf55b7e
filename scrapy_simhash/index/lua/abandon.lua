-- End the leases and hand-overs of a worker that closes: what it left is for others at once.
-- ARGV: worker
for set, hash in pairs({[expiry] = leases, [handed] = waiting}) do
  for _, member in ipairs(call('ZRANGE', set, 0, -1)) do
    if call('HGET', hash, member .. ':w') == ARGV[1] then call('ZADD', set, 0, member) end
  end
end
return 0
