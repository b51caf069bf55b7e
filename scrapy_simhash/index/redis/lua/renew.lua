-- Let the leases of a crawler's entries end later.
-- ARGV: generation, crawler, the new end as a text and as in a lease, then position, key, ...
--# keys
--# entries
for i = 5, #ARGV, 2 do
  local lease = lease_of(ARGV[i])
  if lease and owner_of(lease) == ARGV[2] and key_of(lease, LEASE + 1) == ARGV[i + 1] then
    call('HSET', leases, ARGV[i], ARGV[4] .. sub(lease, 9))
    call('ZADD', due, ARGV[3], ARGV[i])
  end
end
return 0
