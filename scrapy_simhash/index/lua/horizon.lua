-- Return the first position that was frozen after a time, or not yet.
-- ARGV: that time
local low, high = call('HGET', meta, 'head') / SEGMENT, call('HGET', meta, 'flushed') / SEGMENT
while low < high do
  local middle = math.floor((low + high) / 2)
  if tonumber(call('HGET', frozen, middle) or 0) < tonumber(ARGV[1]) then
    low = middle + 1
  else
    high = middle
  end
end
return low * SEGMENT
