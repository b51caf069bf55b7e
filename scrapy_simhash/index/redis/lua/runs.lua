-- Runs, in the hash of that name:
--
--   <run>            when it began and ended, 0 if it has not (doubles), 1 if it is finished, its spider
--   <run>:living     crawler and when it is dead unless it renews leases, 8 + 8 bytes each
--   last:<spider>    the number of a spider's last run
local function run_at(number)
  local packed = number ~= '' and call('HGET', runs, number)
  if not packed then return nil end
  local begun, ended, finished = struct.unpack('>ddB', packed)
  return {begun = begun, ended = ended, finished = finished, spider = sub(packed, 18)}
end

local function write_run(number, run)
  call('HSET', runs, number, struct.pack('>ddB', run.begun, run.ended, run.finished) .. run.spider)
end

-- Return the crawlers of a run that live at a time, without one. At time 0 all do: a crawler that is
-- dead for a while may be back.
local function living(number, now, crawler)
  local all, found = call('HGET', runs, number .. ':living') or '', {}
  for at = 1, #all, 16 do
    local is_other = sub(all, at, at + 7) ~= crawler
    if is_other and struct.unpack('>d', all, at + 8) > now then
      found[#found + 1] = sub(all, at, at + 15)
    end
  end
  return concat(found)
end

-- Let a crawler of a run live until a time, given as in a lease.
local function set_living(number, crawler, ends)
  call('HSET', runs, number .. ':living', living(number, 0, crawler) .. crawler .. ends)
end
