-- Gives the lock more time if it is ours. It never creates a key.
--
-- KEYS[1]  the lock
-- ARGV[1]  our token
-- ARGV[2]  milliseconds to live from now
-- Replies  1: done; 0: it is not ours, nothing changed
--
-- By hand: redis-cli --eval lock/renew.lua 'lock:{voucher:1}' , TOKEN 30000
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
