-- Moves one message from the stream to the dead letters, with the reason.
--
-- KEYS[1] stream, KEYS[2] dead-letter stream
-- ARGV[1] consumer group, ARGV[2] message id, ARGV[3] reason
--
-- Replies with the dead letter's id, or '' when the message was not in the stream any more (it is acknowledged
-- all the same). Repeated: '', nothing changes.
--
-- redis-cli --eval bury.lua 'seckill:{gate:0}:stream' 'seckill:{gate:0}:dead' , writers 1700000000000-0 'why'
if #KEYS ~= 2 or #ARGV ~= 3 then return redis.error_reply('ERR bury: 2 keys and 3 arguments expected') end
if ARGV[1] == '' then return redis.error_reply('ERR bury: empty group') end
if not string.find(ARGV[2], '^%d+%-%d+$') then return redis.error_reply('ERR bury: bad message id') end
if ARGV[3] == '' then return redis.error_reply('ERR bury: empty reason') end

local letter = ''
local found = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if found[1] then
  local fields = found[1][2]
  fields[#fields + 1] = '_reason'
  fields[#fields + 1] = ARGV[3]
  letter = redis.call('XADD', KEYS[2], '*', unpack(fields))
end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
return letter
