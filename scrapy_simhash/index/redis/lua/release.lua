-- Delete provisional entries of a crawler.
-- ARGV: generation, crawler, then position, key, ...
--# keys
--# entries
each_leased(3, function(position, lease)
  if owner_of(lease) == ARGV[2] then bury(position) end
end)
return 0
