-- Writes a record and event 0. Safe to send again. Answers 0 when the id is taken by another record.
-- KEYS: log, record. ARGV: life in ms, event 0, the record, then names and values of the fields beside it.
local there = redis.call('HGET', KEYS[2], 'record')
if there then return there == ARGV[3] and 1 or 0 end
redis.call('DEL', KEYS[1])
redis.call('XADD', KEYS[1], '0-1', 'e', ARGV[2])
redis.call('HSET', KEYS[2], 'record', ARGV[3], 'tail', 0, 'events', 1, unpack(ARGV, 4))
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return 1
