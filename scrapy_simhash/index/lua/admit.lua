-- Append entries whatever is near: older ones of theirs are about to be deleted.
-- ARGV: worker, when the leases run out, then for each: fingerprint, key, scope, time
-- Returns their positions.
local flushed, positions = call('HGET', meta, 'flushed'), {}
for i = 3, #ARGV, 4 do
  local fingerprint = ARGV[i]
  local position = flushed + call('APPEND', tail, fingerprint) / #fingerprint - 1
  positions[#positions + 1] = position
  call('HSET', leases, position, pack_lease({
    expires = tonumber(ARGV[2]), time = ARGV[i + 3], worker = ARGV[1], key = ARGV[i + 1],
    scope = ARGV[i + 2], request = '', fingerprint = fingerprint,
  }))
end
return positions
