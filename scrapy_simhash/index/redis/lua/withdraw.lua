-- Take away a crawler's copies that wait on entries, or that have them by now.
-- ARGV: generation, crawler, then the entries: position and last 3 bytes of the fingerprint, 4 + 3 each.
--# keys
--# entries
for i = 1, #ARGV[3], 7 do
  local position = struct.unpack('>I4', ARGV[3], i)
  local lease = call('HGET', leases, position)
  local copy = lease and copy_of(lease) or ''
  if sub(copy, 1, 8) == ARGV[2] and sub(fingerprint_of(position), -3) == sub(ARGV[3], i + 4, i + 6) then
    if expires_of(lease) > 0 then
      call('HSET', leases, position, sub(lease, 1, #lease - #copy))
    else
      take_back(position, lease)
    end
  end
end
return 0
