-- Start the leases of a worker's entries anew.
-- ARGV: worker, when they run out, position, ...
for i = 3, #ARGV do
  local entry = lease_of(ARGV[i])
  if entry and entry.worker == ARGV[1] then
    entry.expires = tonumber(ARGV[2])
    call('HSET', leases, ARGV[i], pack_lease(entry))
  end
end
return 0
