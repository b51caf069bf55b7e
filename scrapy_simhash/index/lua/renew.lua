-- Start the leases of a worker's entries anew.
-- ARGV: worker, when they run out, position, ...
for i = 3, #ARGV do
  if call('HGET', leases, ARGV[i] .. ':w') == ARGV[1] then
    call('ZADD', expiry, 'XX', ARGV[2], ARGV[i])
  end
end
return 0
