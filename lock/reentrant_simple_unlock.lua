-- Leaves the lock once; with the last entry it is gone.
--
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- ARGV[2]  seconds to live, when entries are left
-- Replies  1: done; 0: it was not ours
--
-- By hand: redis-cli --eval lock/reentrant_simple_unlock.lua 'lock:{voucher:1}' , OWNER 30
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
	redis.call('EXPIRE', KEYS[1], ARGV[2])
else
	redis.call('DEL', KEYS[1])
end
return 1
