-- Takes the lock for a while, or says when it lapses. Sent again with the same token, because an answer was lost,
-- it finds its own token and says yes again.
--
-- KEYS[1]  the lock
-- ARGV[1]  our token
-- ARGV[2]  milliseconds to live
-- Replies  "0" (text): it is ours; a number: it is not, and lapses in so many milliseconds, -1 never
--
-- By hand: redis-cli --eval lock/acquire.lua 'lock:{voucher:1}' , TOKEN 30000
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then
		return redis.call('PTTL', KEYS[1])
	end
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return '0'
