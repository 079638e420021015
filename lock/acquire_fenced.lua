-- Takes the lock for a while and mints a fencing token, or says when the lock lapses. Sent again with the same token,
-- because an answer was lost, it says yes again with the same fence.
--
-- The fence is the greater of "one more than the last" and the server's clock in microseconds, so that it also grows
-- when the counter was lost, by a flush or a restart, as long as the clock is not behind the last fence. It is printed
-- with %.0f, because Lua's plain conversion keeps 14 digits only. Arguments are checked by the first write itself:
-- a bad time-to-live fails it and nothing is changed.
--
-- KEYS[1]  the lock
-- KEYS[2]  its last fence
-- ARGV[1]  our token
-- ARGV[2]  milliseconds to live
-- ARGV[3]  milliseconds that the fence is remembered
-- Replies  the fence (text): it is ours; a number: it is not, and lapses in so many milliseconds, -1 never
--
-- By hand: redis-cli --eval lock/acquire_fenced.lua 'lock:{voucher:1}' 'lock:{voucher:1}:fence' , TOKEN 30000 3600000
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then
	return redis.call('PTTL', KEYS[1])
end
local last = redis.call('GET', KEYS[2])
if held and last then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return last
end
local now = redis.call('TIME')
local fence = string.format('%.0f', math.max(tonumber(last or 0) + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[2], fence, 'PX', ARGV[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return fence
