-- Return the provisional entries: {position, key, scope, fingerprint, time} of each.
local found = {}
for _, entry in ipairs(all_leases()) do
  found[#found + 1] = {entry.position, entry.key, entry.scope, entry.fingerprint, entry.time}
end
return found
