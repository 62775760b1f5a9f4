-- Events behind a number until they are so many bytes. KEYS: log, record. ARGV: owner, number, bytes, bytes counted
-- for an event's fixed parts.
-- Answers {format, number, event, number, event ...}; 0: no such log of that owner, 1: it does not hold the number.
local kept = redis.call('HMGET', KEYS[2], 'owner', 'format')
if kept[1] ~= ARGV[1] then return 0 end
local after = tonumber(ARGV[2])
if after >= 0 and #redis.call('XRANGE', KEYS[1], after, after, 'COUNT', 1) == 0 then return 1 end
local given, left = {kept[2]}, tonumber(ARGV[3])
while true do
  local entries = redis.call('XRANGE', KEYS[1], after + 1, '+', 'COUNT', 64)
  for _, entry in ipairs(entries) do
    after = tonumber(string.match(entry[1], '^%d+'))
    given[#given + 1] = after
    given[#given + 1] = entry[2][2]
    left = left - #entry[2][2] - ARGV[4]
    if left < 0 then return given end
  end
  if #entries < 64 then return given end
end
