-- Takes the lock for a while and mints a fencing token, or says when the lock lapses. Sent again with the same token,
-- because an answer was lost, it says yes again with the same fence.
--
-- The fence is the greater of "one more than the last" and the server's clock in microseconds, so that it also grows
-- when the counter was lost or fell back, by a flush, a restart or an older snapshot, as long as the clock is not
-- behind the last fence. The clock is put together as text, and a sum is printed with %.0f, because Lua's plain
-- conversion keeps 14 digits only. Needs Redis 6.2 (SET with GET).
--
-- KEYS[1]  the lock
-- KEYS[2]  its last fence
-- ARGV[1]  our token
-- ARGV[2]  milliseconds to live
-- ARGV[3]  milliseconds that the fence is remembered, one hour if not given
-- Replies  the fence (text): it is ours; a number: it is not, and lapses in so many milliseconds, -1 never
--
-- By hand: redis-cli --eval lock/acquire_fenced.lua 'lock:{voucher:1}' 'lock:{voucher:1}:fence' , TOKEN 30000
if not KEYS[2] or ARGV[3] and (#ARGV[3] > 15 or not string.find(ARGV[3], '^[1-9]%d*$')) then
	return redis.error_reply('ERR acquire_fenced: needs 2 keys, a token and 1 or 2 times to live')
end
local remembered = ARGV[3] or '3600000'
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then
		return redis.call('PTTL', KEYS[1])
	end
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	local mine = redis.call('GET', KEYS[2])
	if mine then
		return mine
	end
end
local now = redis.call('TIME')
local fence = now[1] .. string.sub('00000' .. now[2], -6)
local last = redis.call('SET', KEYS[2], fence, 'PX', remembered, 'GET')
if last and (#last ~= #fence or last >= fence) then
	fence = string.format('%.0f', math.max(last + 1, tonumber(fence)))
	redis.call('SET', KEYS[2], fence, 'PX', remembered)
end
return fence
