-- Lets an idempotency key end when its holder does. KEYS: the key. ARGV: id, end of life in ms since 1970.
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
