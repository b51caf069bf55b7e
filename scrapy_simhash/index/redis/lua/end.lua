-- Leave a run, which ends with its last living crawler.
-- ARGV: generation, now, crawler, run, 1 if it is finished or 0
--# keys
--# runs
local number, run = ARGV[4], run_at(ARGV[4])
if run then
  if living(number, tonumber(ARGV[2]), ARGV[3]) ~= '' then
    call('HSET', runs, number .. ':living', living(number, 0, ARGV[3]))
  else
    call('HDEL', runs, number .. ':living')
    run.ended, run.finished = tonumber(ARGV[2]), tonumber(ARGV[5])
    write_run(number, run)
  end
end
return 0
