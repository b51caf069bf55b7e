-- Let the leases of a crawler's entries end later.
-- ARGV: generation, crawler, the new end in whole seconds and as in a lease, then position, key, ...
--# keys
--# entries
for _, entry in ipairs(leased_ones(5, ARGV[2])) do
  call('HSET', leases, entry.position, ARGV[4] .. sub(entry.lease, 9))
  call('ZADD', due, ARGV[3], entry.position)
end
return 0
