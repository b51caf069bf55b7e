-- Return bucket pages of a block.
-- ARGV: generation, the caller's depth, block, first and last name less 2 ^ depth, as if none were
--   split
-- Returns {name, content, ...}.
--# keys
local _, depth = math.frexp(tonumber(state[3]))
depth = depth - 1
local turn, first, found = tonumber(state[3]) - 2 ^ depth, 2 ^ depth, {}
if tonumber(ARGV[2]) ~= depth then return {'pages', tonumber(state[3])} end

local function add(number)
  local name = char(ARGV[3], floor(number / 65536), floor(number / 256) % 256, number % 256)
  local content = call('HGET', buckets, name)
  if content then
    local size = #found
    found[size + 1], found[size + 2] = name, content
  end
end

for number = first + ARGV[4], first + ARGV[5] do
  if number < first + turn then
    add(2 * number)
    add(2 * number + 1)
  else
    add(number)
  end
end
return found
