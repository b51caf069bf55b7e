-- Append rows of confirmed entries: positions and rows alternate.
local function append_rows(confirmed)
  local contents, changed = {}, {}
  for i = 1, #confirmed, 2 do
    local position, row = confirmed[i], confirmed[i + 1]
    local number = floor(position / ROWS)
    if not contents[number] then contents[number] = {call('HGET', rows, number) or ''} end
    local parts = contents[number]
    parts[#parts + 1] = struct.pack('>I4', position % ROWS * 16777216 + #row) .. row
  end
  for number, parts in pairs(contents) do
    changed[#changed + 1] = number
    changed[#changed + 1] = concat(parts)
  end
  if #changed > 0 then call('HSET', rows, unpack(changed)) end
end
