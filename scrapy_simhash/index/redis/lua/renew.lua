-- Let the leases of a crawler's entries end later.
-- ARGV: generation, crawler, the new end in whole seconds and as in a lease, then position, key, ...
--# keys
--# entries
each_leased(5, function(position, lease)
  if owner_of(lease) == ARGV[2] then
    call('HSET', leases, position, ARGV[4] .. sub(lease, 9))
    call('ZADD', due, ARGV[3], position)
  end
end)
return 0
