-- Makes guarded data belong to a fencing token, unless a later token has claimed it.
--
-- KEYS[1]  the guard: the highest token that has claimed the data
-- ARGV[1]  our token
-- Replies  1: the data is ours; 0: a later token has claimed it, nothing changed
--
-- By hand: redis-cli --eval lock/guard_claim.lua 'stock:{1}:guard' , 1764537600000000
local fence = tonumber(ARGV[1])
if not fence or fence <= 0 then
	return redis.error_reply('ERR guard_claim: fence must be a positive number')
end
if tonumber(redis.call('GET', KEYS[1]) or 0) > fence then
	return 0
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
