-- Return when the last lease of another worker, and the last hand-over to another of this spider,
-- run out, or nothing.
-- ARGV: worker
local lease, handover = false, false
for _, entry in ipairs(all_leases()) do
  if entry.worker ~= ARGV[1] and not (lease and lease >= entry.expires) then
    lease = entry.expires
  end
end
for _, key in ipairs(call('ZREVRANGE', handed, 0, -1)) do
  if key ~= NOBODY then
    local ends, owner = call('ZSCORE', handed, key), call('HGET', waiting, key .. ':w')
    if tonumber(ends) < 0 then break end
    if owner ~= ARGV[1] and spider_of(owner or '') == spider_of(ARGV[1]) then
      handover = ends
      break
    end
  end
end
return {lease and string.format('%.17g', lease), handover}
