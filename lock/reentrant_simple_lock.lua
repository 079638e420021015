-- Enters the lock, once more if it is ours already.
--
-- KEYS[1]  the lock: a hash with one field
-- ARGV[1]  the owner
-- ARGV[2]  seconds to live
-- Replies  1: it is ours; 0: it is not
--
-- By hand: redis-cli --eval lock/reentrant_simple_lock.lua 'lock:{voucher:1}' , OWNER 30
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
	redis.call('EXPIRE', KEYS[1], ARGV[2])
	return 1
end
return 0
