-- Let the rows of ROWS positions stand together in fewer bytes, if none joined them meanwhile.
-- ARGV: generation, then number, size of the rows that stood together, the new content, the offsets
--   of those that join them, 1 byte each, ...
--# keys
for i = 2, #ARGV, 4 do
  if call('HSTRLEN', rows, ARGV[i]) == tonumber(ARGV[i + 1]) then
    call('HSET', rows, ARGV[i], ARGV[i + 2])
    local fields = {}
    for j, offset in ipairs({byte(ARGV[i + 3], 1, ROWS)}) do
      fields[j] = ':' .. ARGV[i] * ROWS + offset
    end
    call('HDEL', rows, unpack(fields))
  end
end
return 0
