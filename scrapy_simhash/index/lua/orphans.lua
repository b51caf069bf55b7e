-- Hand to a worker the pages whose worker died, some of them at a time.
-- ARGV: worker, now, lease, how many at most
-- Returns the pages given up, {position, fingerprint, ...} of what was deleted,
-- {key, request, ...}, whether there are more.
local worker, now, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local expires = now + ARGV[3]
local left = -1 - spider_of(worker)
local is_full = false
for _, range in ipairs({{left, left}, {0, now}}) do
  local lost = call('ZRANGEBYSCORE', handed, range[1], range[2], 'LIMIT', 0, most)
  for _, key in ipairs(lost) do
    local noted = call('HMGET', waiting, key .. ':r', key .. ':n')
    if noted[1] then
      take_over(key, noted[1], tonumber(noted[2]), worker, expires)
    else
      call('ZREM', handed, key)
    end
  end
  is_full = is_full or #lost == most
end
for _, entry in ipairs(all_leases()) do
  if #deleted >= 2 * most then break end
  if entry.expires <= now then
    hand_over(entry.position, worker, expires)
    delete(entry.position, entry.fingerprint)
    if entry.request ~= '' then
      forget_waiting(entry.key)
      take_over(entry.key, entry.request, 0, worker, expires)
    end
  end
end
return {given_up, deleted, pages, (is_full or #deleted >= 2 * most) and 1 or 0}
