-- Sets the cancel flag of a running generation and publishes that. KEYS: record. ARGV: owner, channel, id.
-- Answers the record's fields; nothing: no such record of that owner.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return {} end
if redis.call('HEXISTS', KEYS[1], 'until') == 0 then
  redis.call('HSET', KEYS[1], 'cancel', 1)
  redis.call('PUBLISH', ARGV[2], ARGV[3])
end
return redis.call('HGETALL', KEYS[1])
