-- Return the bucket pages that hold the entries of some names.
-- ARGV: generation, the caller's level, names
-- Returns {name, content, ...}: a page that was not yet split stands for those that it holds.
--# keys
local level, names, found, size = tonumber(state[3]), ARGV[3], {}, 0
if tonumber(ARGV[2]) ~= level then return {'level', level} end
for i = 1, #names, 4 do
  local block, a, b, c = byte(names, i, i + 3)
  local number = a * 65536 + b * 256 + c
  for depth = level, LEAST, -1 do
    local name = char(block, floor(number / 65536), floor(number / 256) % 256, number % 256)
    local content = call('HGET', buckets, name)
    if content then
      found[size + 1], found[size + 2], size = name, content, size + 2
      break
    end
    number = floor(number / 2)
  end
end
return found
