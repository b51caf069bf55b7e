-- What a caller is told of the entries near a page.
-- Rows that a caller is told of: number of ROWS positions and content alternate.
local told, is_told = {}, {}

-- Add to an answer: position, distance, last 3 bytes of the fingerprint, lease without what repeats
-- the request, or ''.
local function tell(answer, position, d, lease)
  local size, number = #answer, floor(position / ROWS)
  answer[size + 1], answer[size + 2] = position, d
  answer[size + 3] = sub(fingerprint_of(position), -3)
  answer[size + 4] = lease and sub(lease, 1, HEAD + 4 + #row_at(lease, HEAD + 1)) or ''
  if not lease and not is_told[number] then
    is_told[number] = true
    told[#told + 1] = number
    told[#told + 1] = call('HGET', rows, number) or ''
  end
end
