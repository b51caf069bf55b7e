-- Delete entries, whoever has them, if they are still what the caller takes them for.
-- ARGV: generation, "seen" or "print", then the entries: position, and the run in which they were last
--   seen or the last 3 bytes of the fingerprint, 4 + 3 each.
-- Returns how many there were.
--# keys
--# entries
local count = 0
for i = 1, #ARGV[3], 7 do
  local position, known = struct.unpack('>I4', ARGV[3], i), sub(ARGV[3], i + 4, i + 6)
  local now = ARGV[2] == 'seen' and struct.pack('>I3', run_of(position)) or
    sub(fingerprint_of(position), -3)
  if now == known and not is_dead(position) then
    bury(position)
    count = count + 1
  end
end
return count
