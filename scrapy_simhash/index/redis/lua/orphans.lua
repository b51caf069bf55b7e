-- Lease expired entries of a spider anew to a crawler of it; one that was adopted before comes alone. An
-- entry that is a copy's is left to that copy's crawler while it lives.
-- ARGV: generation, now, end of the leases, heads of the leases, how many are looked at, adoptions
--   of an entry at most, 1 if one that was adopted before may come, the caller's run, and what another
--   shard has of the crawlers of that run; see runs.lua
-- Returns position, key and request of each that was adopted, the keys of what was given up, the time.
--# keys
--# entries
--# runs
local now, head, most = tonumber(ARGV[2]), ARGV[4], tonumber(ARGV[6])
local adopted, given_up, again = {}, {}, nil
local crawlers, alive = ARGV[9] .. (call('HGET', runs, ARGV[8] .. ':living') or ''), {}
for at = 1, #crawlers, 16 do
  alive[sub(crawlers, at, at + 7)] = struct.unpack('>d', crawlers, at + 8) > now
end
local own = sub(head, 17, 20)
-- Redis may have deleted what is due to make room; some leases are looked at, and noted again.
if call('ZCARD', due) < call('HLEN', leases) - 1 then
  local some = call('HRANDFIELD', leases, ARGV[5], 'WITHVALUES')
  for i = 1, #some, 2 do
    if #some[i + 1] > HEAD and sub(some[i + 1], 17, 20) == own then
      call('ZADD', due, 'NX', math.ceil(expires_of(some[i + 1])), some[i])
    end
  end
end
local function adopt(position, lease, row, request)
  call('HSET', leases, position,
    sub(head, 1, ADOPTIONS - 1) .. char(byte(lease, ADOPTIONS) + 1) .. sub(lease, ADOPTIONS + 1))
  call('ZADD', due, ARGV[3], position)
  adopted[#adopted + 1] = {position, key_of(row), request}
end
for _, position in ipairs(call('ZRANGEBYSCORE', due, '-inf', math.ceil(now), 'LIMIT', 0, ARGV[5])) do
  local lease = call('HGET', leases, position)
  if not lease then
    call('ZREM', due, position)
  elseif sub(lease, 17, 20) ~= own then
    if sub(copy_of(lease), 9, 12) == own then
      call('ZADD', due, ARGV[3], position)  -- the entry may become the copy's
    else
      call('ZREM', due, position)
    end
  elseif expires_of(lease) > now then
    call('ZADD', due, math.ceil(expires_of(lease)), position)
  elseif expires_of(lease) == 0 and alive[sub(lease, 9, 16)] then
    call('ZADD', due, ARGV[3], position)
  elseif sub(lease, 9, 16) ~= sub(head, 9, 16) then
    local adoptions, row, request = byte(lease, ADOPTIONS), parts_at(lease, HEAD + 1)
    if request == '' or adoptions >= most then
      take_back(tonumber(position), lease)
      if request ~= '' then given_up[#given_up + 1] = key_of(row) end
    elseif adoptions == 0 then
      adopt(tonumber(position), lease, row, request)
    else
      again = again or {tonumber(position), lease, row, request}
    end
  end
end
if again and #adopted == 0 and ARGV[7] == '1' then adopt(unpack(again)) end
return {adopted, given_up, call('TIME')}
