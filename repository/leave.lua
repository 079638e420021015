-- Removes a consumer from the group, unless it has unacknowledged messages: those would be lost with it.
--
-- KEYS[1] stream
-- ARGV[1] consumer group, ARGV[2] consumer
--
-- Replies with 1 when the consumer is not in the group any more, 0 when it still has messages.
--
-- redis-cli --eval leave.lua 'seckill:{gate:0}:stream' , writers host-1-abcd
if #KEYS ~= 1 or #ARGV ~= 2 then return redis.error_reply('ERR leave: a key and 2 arguments expected') end
if ARGV[1] == '' or ARGV[2] == '' then return redis.error_reply('ERR leave: empty group or consumer') end

if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
