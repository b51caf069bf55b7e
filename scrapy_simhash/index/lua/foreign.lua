-- Return when the last lease and the last hand-over of another worker run out, or nothing.
-- ARGV: worker
local lease, handover = false, false
for _, entry in ipairs(all_leases()) do
  if entry.worker ~= ARGV[1] and not (lease and lease >= entry.expires) then
    lease = entry.expires
  end
end
for _, key in ipairs(call('ZREVRANGE', handed, 0, -1)) do
  if key ~= NOBODY and call('HGET', waiting, key .. ':w') ~= ARGV[1] then
    handover = call('ZSCORE', handed, key)
    break
  end
end
return {lease and string.format('%.17g', lease), handover}
