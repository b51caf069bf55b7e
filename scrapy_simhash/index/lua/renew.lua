-- Start the leases of a worker's entries anew.
-- ARGV: worker, when they run out, then position, fingerprint, ...
for i = 3, #ARGV, 2 do
  local entry = lease_of(ARGV[i])
  if entry and entry.worker == ARGV[1] and entry.fingerprint == ARGV[i + 1] then
    entry.expires = tonumber(ARGV[2])
    call('HSET', leases, entry.position, pack_lease(entry))
  end
end
return 0
