-- Deletes the lock if it is ours, as unlock.lua does, and tells those who wait for it: they listen to the
-- channel that has the lock's name and ":free".
--
-- KEYS[1]  the lock
-- ARGV[1]  our token
-- ARGV[2]  what to tell them, nothing if not given
-- Replies  1: it was ours and is gone; 0: it was not ours, nothing changed
--
-- By hand: redis-cli --eval lock/release.lua 'lock:{voucher:1}' , TOKEN
if redis.call('GET', KEYS[1]) == ARGV[1] then
	redis.call('DEL', KEYS[1])
	redis.call('PUBLISH', KEYS[1] .. ':free', ARGV[2] or '')
	return 1
end
return 0
