-- Take back the entries of a worker; the pages that waited on them are handed to it.
-- ARGV: worker, now, lease, then position, fingerprint, ...
-- Returns the pages given up, {position, fingerprint, ...} of what was deleted,
-- {key, request, ...}.
local worker, expires = ARGV[1], ARGV[2] + ARGV[3]
for i = 4, #ARGV, 2 do
  local entry = lease_of(ARGV[i])
  if entry and entry.worker == worker and entry.fingerprint == ARGV[i + 1] then
    hand_over(entry.position, worker, expires)
    delete(entry.position, entry.fingerprint)
  end
end
return {given_up, deleted, pages}
