-- The keys of an index, and the log; it stands before every script but open.lua.
--
-- meta      hash: the header; "end": entries in the log; "dead": deleted ones; "leaves": see buckets.lua;
--           "run": the last run's number
-- log       hash: number of a segment -> the records of SEGMENT entries. A record is the fingerprint;
--           where every crawler has the log in RAM, the block values and the key's value follow it
-- rows      hash: see rows.py
-- buckets   hash: see buckets.lua
-- leases    hash: position of a provisional entry -> its lease and row; see entries.lua
-- due       sorted set, one for each spider: positions of its provisional entries, and of those that its
--           pages wait on, by the end of the lease in whole seconds. The lease itself decides: a member
--           whose lease has gone or was renewed is put right when met
-- dead      string: a bit for each position, 1 where the entry was deleted
-- seen      string: 3 bytes for each of the first SEEN positions, the run that its page was last seen
--           in, 0 for none; "seen:1", "seen:2" ... for those that follow, because a long string takes
--           long to grow, and none is longer than 512 MB
-- runs      hash: see runs.lua; "<run>:pages": entries that were last seen in it
--
-- All keys have the same hash tag, because a script may only touch keys of one slot.
-- ARGV[1] is the generation: an index that was deleted and made again is another.
local meta, log, rows, buckets, leases, due, dead, seen_in, runs = unpack(KEYS)
local call, sub, byte, char, find = redis.call, string.sub, string.byte, string.char, string.find
local floor, concat = math.floor, table.concat

local state = call('HMGET', meta, 'generation', 'end', 'leaves', 'dead')
if state[1] ~= ARGV[1] then return false end
local finish = tonumber(state[2])
if not (finish >= 0 and finish < 4294967296) then error('the end of the log is none') end

-- A key that Redis has deleted to make room would be taken for one that never was.
if call('EXISTS', log, rows, buckets, leases, runs) < 5 then
  for _, key in ipairs({log, rows, buckets, leases, runs}) do
    if call('EXISTS', key) == 0 then error('SIMHASH ' .. key .. ' is gone') end
  end
end

-- Return the key, and the place in its text, where the run of a position stands.
local function place_of(position)
  local part = floor(position / SEEN)
  return part > 0 and seen_in .. ':' .. part or seen_in, 3 * (position - part * SEEN)
end

local last_seen, last_at = place_of(math.max(finish - 1, 0))
if finish > 0 and call('STRLEN', last_seen) < last_at + 3 then
  error('SIMHASH ' .. last_seen .. ' is gone')
end
if state[4] ~= '0' and call('EXISTS', dead) == 0 then error('SIMHASH ' .. dead .. ' is gone') end

local segments = {}

local function segment(number)
  segments[number] = segments[number] or call('HGET', log, number) or ''
  return segments[number]
end

local function record_of(position)
  local number = floor(position / SEGMENT)
  local at = (position - number * SEGMENT) * RECORD
  return sub(segment(number), at + 1, at + RECORD)
end

-- The records that this script appends to the log.
local records = {}

local function fingerprint_of(position)
  local record = position < finish and record_of(position) or records[position - finish + 1] or ''
  return sub(record, 1, WIDTH)
end

-- Count entries that come to a run, or leave it.
local function count_in(run, by)
  if run > 0 then call('HINCRBY', runs, run .. ':pages', by) end
end

-- Note the run in which some entries, one after the other, were last seen.
local function note_run(position, count, run)
  local key, at = place_of(position)
  local some = math.min(count, SEEN - position % SEEN)
  call('SETRANGE', key, at, struct.pack('>I3', run):rep(some))
  if some < count then note_run(position + some, count - some, run) end
end

-- Append the records to the log, as entries that are seen in a run.
local function append(run)
  local number, used = floor(finish / SEGMENT), finish % SEGMENT * RECORD
  local content = segment(number)
  if #content < used then error('the log has a gap') end
  if #content > used then content = sub(content, 1, used) end
  content = content .. concat(records)
  local changed = {}
  for at = 1, #content, SEGMENT * RECORD do
    changed[#changed + 1] = number
    changed[#changed + 1] = sub(content, at, at + SEGMENT * RECORD - 1)
    number = number + 1
  end
  note_run(finish, #records, run)
  call('HSET', log, unpack(changed))
  call('HINCRBY', meta, 'end', #records)
  count_in(run, #records)
end
