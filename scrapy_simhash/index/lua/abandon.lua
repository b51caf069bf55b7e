-- End the leases and hand-overs of a worker that closes: what it left is for others at once.
-- ARGV: worker
for _, entry in ipairs(all_leases()) do
  if entry.worker == ARGV[1] then
    entry.expires = 0
    call('HSET', leases, entry.position, pack_lease(entry))
  end
end
for _, key in ipairs(call('ZRANGE', handed, 0, -1)) do
  if call('HGET', waiting, key .. ':w') == ARGV[1] then call('ZADD', handed, 0, key) end
end
return 0
