-- Removes all of a voucher's admission state, its orders in flight and their messages included (lab reset).
--
-- KEYS[1] gate, KEYS[2] users, KEYS[3] pending, KEYS[4] stream
-- ARGV[1] voucher
--
-- Replies with the number of orders in flight that were forgotten.
--
-- redis-cli --eval forget.lua 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' 'seckill:{gate:0}:pending' \
--   'seckill:{gate:0}:stream' , 1
if #KEYS ~= 4 or #ARGV ~= 1 then return redis.error_reply('ERR forget: 4 keys and a voucher expected') end
if #ARGV[1] > 19 or not string.find(ARGV[1], '^[1-9]%d*$') then return redis.error_reply('ERR forget: bad voucher') end

redis.call('DEL', KEYS[1], KEYS[2])
local forgotten = 0
local pending = redis.call('HGETALL', KEYS[3])
for i = 1, #pending, 2 do
  if string.match(pending[i + 1], '^(%d+):') == ARGV[1] then
    forgotten = forgotten + redis.call('HDEL', KEYS[3], pending[i])
  end
end
for _, message in ipairs(redis.call('XRANGE', KEYS[4], '-', '+')) do
  local fields = message[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'voucher' and fields[i + 1] == ARGV[1] then redis.call('XDEL', KEYS[4], message[1]) end
  end
end
return forgotten
