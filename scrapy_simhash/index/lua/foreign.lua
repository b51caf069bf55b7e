-- Return when the last lease or hand-over of another worker runs out; nothing if there is none.
-- ARGV: worker
local function last(set, hash)
  local at = 0
  while true do
    local some = call('ZREVRANGE', set, at, at + 99, 'WITHSCORES')
    if #some == 0 then return nil end
    for i = 1, #some, 2 do
      if call('HGET', hash, some[i] .. ':w') ~= ARGV[1] then return some[i + 1] end
    end
    at = at + 100
  end
end
return {last(expiry, leases) or false, last(handed, waiting) or false}
