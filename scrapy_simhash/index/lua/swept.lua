-- Note that what is before a position is deleted.
-- ARGV: position
call('HSET', meta, 'swept', ARGV[1])
return 0
