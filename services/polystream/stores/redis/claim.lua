-- Binds an idempotency key if it is free or held by the one named. Safe to send again.
-- KEYS: the key. ARGV: id, digest, id that may be replaced ('': none), life in ms. Answers {id, digest} of the holder.
local held = redis.call('HMGET', KEYS[1], 'id', 'digest')
if held[1] and held[1] ~= ARGV[3] then return held end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'digest', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {ARGV[1], ARGV[2]}
