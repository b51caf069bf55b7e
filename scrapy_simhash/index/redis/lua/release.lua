-- Delete provisional entries of a crawler.
-- ARGV: generation, crawler, then position, key, ...
--# keys
--# entries
for i = 3, #ARGV, 2 do
  local lease = lease_of(ARGV[i])
  if lease and owner_of(lease) == ARGV[2] and key_of(lease, LEASE + 1) == ARGV[i + 1] then
    bury(ARGV[i])
  end
end
return 0
