-- Appends what is missing of some events and publishes it. Safe to send again.
-- KEYS: log, record; for a last event also claims. ARGV: attempt, number of the first event, life after the last
-- event in ms (0: none of these is the last), events.
-- Answers the log's last number, or {verdict, last number, cancelled}; of a last event {0, last number, cancelled,
-- end of life in ms since 1970, names of idempotency keys}. Verdicts: 0 ok, 1 fenced, 2 behind, 3 gone.
local kept = redis.call('HMGET', KEYS[2], 'attempt', 'tail', 'events', 'cancel', 'until')
if not kept[1] then return {3, -1, 0} end
local tail, cancel = tonumber(kept[2]), kept[4] and 1 or 0
if kept[1] ~= ARGV[1] then return {1, tail, cancel} end
local first = tonumber(ARGV[2])
local expected = math.max(tail + 1, ARGV[1] * 1048576)
local from = 4 + math.max(0, expected - first)
if kept[5] and from <= #ARGV then return {1, tail, cancel} end
if first > expected then return {2, expected - 1, cancel} end
local till = kept[5]
if from <= #ARGV then
  for i = from, #ARGV do
    redis.call('XADD', KEYS[1], first + i - 4 .. '-1', 'e', ARGV[i])
  end
  tail = first + #ARGV - 4
  redis.call('HSET', KEYS[2], 'tail', tail, 'events', kept[3] + #ARGV - from + 1)
  redis.call('PUBLISH', KEYS[1], '[' .. first + from - 4 .. ',' .. table.concat(ARGV, ',', from) .. ']')
  if ARGV[3] ~= '0' then
    local now = redis.call('TIME')
    till = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[3])
    redis.call('HSET', KEYS[2], 'last', ARGV[#ARGV], 'until', till)
    for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, till) end
  end
end
if ARGV[3] ~= '0' then return {0, tail, cancel, till, redis.call('SMEMBERS', KEYS[3])} end
if cancel == 0 then return tail end
return {0, tail, cancel}
