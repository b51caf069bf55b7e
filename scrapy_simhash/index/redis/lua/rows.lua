-- Append the rows of confirmed entries.
local function append_rows(confirmed)
  local contents, changed = {}, {}
  for _, entry in ipairs(confirmed) do
    local number = floor(entry.position / ROWS)
    if not contents[number] then contents[number] = {call('HGET', rows, number) or ''} end
    local parts = contents[number]
    parts[#parts + 1] =
      struct.pack('>I4', entry.position % ROWS * 16777216 + #entry.row) .. entry.row
  end
  for number, parts in pairs(contents) do
    changed[#changed + 1] = number
    changed[#changed + 1] = concat(parts)
  end
  if #changed > 0 then call('HSET', rows, unpack(changed)) end
end
