-- Start the leases of a worker's entries, and of hand-overs to it, anew.
-- ARGV: worker, when they run out, how many entries, position, fingerprint, ..., key, ...
local first = 4 + 2 * ARGV[3]
for i = 4, first - 1, 2 do
  local entry = lease_of(ARGV[i])
  if entry and entry.worker == ARGV[1] and entry.fingerprint == ARGV[i + 1] then
    entry.expires = tonumber(ARGV[2])
    call('HSET', leases, entry.position, pack_lease(entry))
  end
end
for i = first, #ARGV do
  if call('HGET', waiting, ARGV[i] .. ':w') == ARGV[1] then
    call('ZADD', handed, 'XX', ARGV[2], ARGV[i])
  end
end
return 0
