-- Tell how entries fared.
-- ARGV: generation, now, then the entries: position and last 3 bytes of the fingerprint, 4 + 3 each.
-- Returns for each: "p" provisional, "g" gone, or the number of the run that saw it, confirmed, last.
--# keys
--# entries
local now, fared = tonumber(ARGV[2]), {}
for i = 1, #ARGV[3], 7 do
  local position = struct.unpack('>I4', ARGV[3], i)
  local lease = call('HGET', leases, position)
  if sub(fingerprint_of(position), -3) ~= sub(ARGV[3], i + 4, i + 6) or is_dead(position) then
    fared[#fared + 1] = 'g'
  elseif lease then
    fared[#fared + 1] = expires_of(lease) > now and 'p' or 'g'
  else
    fared[#fared + 1] = run_of(position)
  end
end
return fared
