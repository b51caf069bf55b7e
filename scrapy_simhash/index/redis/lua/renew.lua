-- Let the leases of a crawler's entries end later, and the crawler live on.
-- ARGV: generation, crawler, the new end in whole seconds and as in a lease, run, then position, key, ...
--# keys
--# entries
--# runs
for _, entry in ipairs(leased_ones(6, ARGV[2])) do
  call('HSET', leases, entry.position, ARGV[4] .. sub(entry.lease, 9))
  call('ZADD', due, ARGV[3], entry.position)
end
-- A crawler that has left its run does not come back by this.
local all = call('HGET', runs, ARGV[5] .. ':living') or ''
for at = 1, #all, 16 do
  if sub(all, at, at + 7) == ARGV[2] then set_living(ARGV[5], ARGV[2], ARGV[4]) end
end
return 0
