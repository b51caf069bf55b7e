-- Take part in a run.
-- ARGV: generation, now, when the crawler is dead unless it renews leases, as in a lease, crawler,
--   spider, the run that is gone on with or '', a run after which a new one comes.
-- Returns the number of the run.
--# keys
--# runs
local now, spider = tonumber(ARGV[2]), ARGV[5]
local number = ARGV[6]
local run = run_at(number)
if not (run and run.spider == spider and run.finished == 0) then
  number = call('HGET', runs, 'last:' .. spider) or ''
  run = run_at(number)
  if not run or run.ended > 0 or living(number, now, ARGV[4]) == '' then
    number = math.max(tonumber(call('HGET', meta, 'run') or 0), tonumber(ARGV[7])) + 1
    call('HSET', meta, 'run', number)
    if number > 16777215 then error('there are no more numbers of runs') end
    run = {begun = now, finished = 0, spider = spider}
    call('HSET', runs, 'last:' .. spider, number)
  end
end
run.ended = 0
write_run(number, run)
set_living(number, ARGV[4], ARGV[3])
return tonumber(number)
