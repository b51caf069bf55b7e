-- Return the provisional entries: {position, key, scope, fingerprint, time} of each.
local found = {}
for _, position in ipairs(call('ZRANGE', expiry, 0, -1)) do
  local entry = lease_of(position)
  if entry then
    found[#found + 1] = {tonumber(position), entry.key, entry.scope, entry.fingerprint, entry.time}
  end
end
return found
