-- Return when the last lease runs out after which a worker may be given a page, or nothing: of another
-- worker's entry, or of a hand-over to its spider. And whether a page of its spider waits on an entry
-- of another's.
-- ARGV: worker
local spider, last, strangers, waits = spider_of(ARGV[1]), false, {}, false
for _, entry in ipairs(all_leases()) do
  if entry.worker ~= ARGV[1] then last = math.max(last or 0, entry.expires) end
  if spider_of(entry.worker) ~= spider then strangers[#strangers + 1] = entry.position end
end
for _, key in ipairs(call('ZREVRANGE', handed, 0, -1)) do
  if key ~= NOBODY then
    local ends = tonumber(call('ZSCORE', handed, key))
    if ends < 0 then break end
    if spider_of(call('HGET', waiting, key .. ':r') or '') == spider then
      last = math.max(last or 0, ends)
      break
    end
  end
end
for _, position in ipairs(strangers) do
  for _, key in ipairs(call('ZRANGEBYSCORE', waiters, position, position)) do
    waits = waits or spider_of(call('HGET', waiting, key .. ':r') or '') == spider
  end
end
return {last and string.format('%.17g', last), waits and 1 or 0}
