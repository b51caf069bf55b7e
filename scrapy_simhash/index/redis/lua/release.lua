-- Take back provisional entries of a crawler.
-- ARGV: generation, crawler, then position, key, ...
--# keys
--# entries
for _, entry in ipairs(leased_ones(3, ARGV[2])) do
  take_back(tonumber(entry.position), entry.lease)
end
return 0
