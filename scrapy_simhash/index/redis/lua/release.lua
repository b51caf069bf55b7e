-- Delete provisional entries of a crawler.
-- ARGV: generation, crawler, then position, key, ...
--# keys
--# entries
for _, entry in ipairs(leased_ones(3, ARGV[2])) do bury(entry.position) end
return 0
