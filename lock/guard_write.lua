-- Stands before a script that writes guarded data: goes on only while our token is the one that has claimed it.
-- It takes its own key and argument away, so that the script after it counts from 1.
--
-- KEYS[1]  the guard
-- ARGV[1]  our token
-- Replies  error FENCED: another token has claimed the data, or none has; nothing changed
--
-- By hand: cat lock/guard_write.lua my.lua > /tmp/x.lua; redis-cli --eval /tmp/x.lua 'stock:{1}:guard' 'stock:{1}' , TOKEN 9
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return redis.error_reply('FENCED another holder has claimed the data')
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
