-- Replace rows by the same ones in fewer bytes, if none was added meanwhile.
-- ARGV: generation, then number, size that they had, the new content, ...
--# keys
for i = 2, #ARGV, 3 do
  if call('HSTRLEN', rows, ARGV[i]) == tonumber(ARGV[i + 1]) then
    call('HSET', rows, ARGV[i], ARGV[i + 2])
  end
end
return 0
