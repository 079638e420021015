-- Enters the lock, once more if it is ours already, or says when it lapses. After Redisson's tryLockInnerAsync.
--
-- KEYS[1]  the lock: a hash with one field
-- ARGV[1]  the owner
-- ARGV[2]  milliseconds to live
-- Replies  nil: it is ours; a number: it is not, and lapses in so many milliseconds
--
-- By hand: redis-cli --eval lock/reentrant_lock.lua 'lock:{voucher:1}' , OWNER 30000
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return nil
end
return redis.call('PTTL', KEYS[1])
