-- Deletes the lock if it is ours. Nothing can happen between the comparison and the deletion.
--
-- KEYS[1]  the lock
-- ARGV[1]  our token
-- Replies  1: it was ours and is gone; 0: it was not ours, nothing changed
--
-- By hand: redis-cli --eval lock/unlock.lua 'lock:{voucher:1}' , TOKEN
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
