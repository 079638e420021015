-- Leaves the lock once; with the last entry it is gone and waiters are told. They are also told when it was gone
-- before, as its message may never have been sent. After Redisson's unlockInnerAsync.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  milliseconds to live, when entries are left
-- ARGV[3]  the channel that waiters listen to
-- Replies  1: it is free now; 0: entries are left; nil: it was not ours
--
-- By hand: redis-cli --eval lock/reentrant_unlock.lua 'lock:{voucher:1}' , OWNER 30000 'lock:{voucher:1}:free'
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('PUBLISH', ARGV[3], '')
	return nil
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return nil
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], '')
return 1
