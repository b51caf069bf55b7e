-- Delete provisional entries of a crawler.
-- ARGV: generation, crawler, then position, key, ...
--# keys
--# entries
for _, entry in ipairs(leased_ones(3)) do
  if owner_of(entry.lease) == ARGV[2] then bury(entry.position) end
end
return 0
