-- Let confirmed entries have their rows, each in a field of its own until rows are squeezed.
local function add_rows(confirmed)
  local fields = {}
  for i, entry in ipairs(confirmed) do
    fields[2 * i - 1], fields[2 * i] = ':' .. entry.position, entry.row
  end
  if #fields > 0 then call('HSET', rows, unpack(fields)) end
end
