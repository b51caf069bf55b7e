-- Take back the entries of a worker; the pages that waited on them are handed to it.
-- ARGV: worker, now, lease, position, ...
-- Returns the pages given up, {position, fingerprint, ...} of what was deleted,
-- {key, request, ...}.
local worker, expires = ARGV[1], ARGV[2] + ARGV[3]
for i = 4, #ARGV do
  local entry = lease_of(ARGV[i])
  if entry and entry.worker == worker then
    hand_over(ARGV[i], worker, expires)
    delete(ARGV[i], entry.fingerprint)
  end
end
return {given_up, deleted, pages}
