-- Sets the gate's stock to what the database can still sell, provided nothing moved since the counters were read.
--
-- KEYS[1] gate, KEYS[2] users
-- ARGV[1] channel that stock returns are published on, ARGV[2] voucher
-- ARGV[3] capacity: stock left plus live orders in the database
-- ARGV[4] stock, ARGV[5] admitted, ARGV[6] returned, ARGV[7] inflight, as read before the database
--
-- Replies with 1 when it was set, 0 when the gate moved meanwhile or is not there.
--
-- redis-cli --eval setstock.lua 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' , seckill:returns 1 100 97 1 0 0
if #KEYS ~= 2 or #ARGV ~= 7 then return redis.error_reply('ERR setstock: 2 keys and 7 arguments expected') end
if ARGV[1] == '' then return redis.error_reply('ERR setstock: empty channel') end
if #ARGV[2] > 19 or not string.find(ARGV[2], '^[1-9]%d*$') then return redis.error_reply('ERR setstock: bad voucher') end
for i = 3, 7 do
  if #ARGV[i] > 15 or not string.find(ARGV[i], '^%d+$') then return redis.error_reply('ERR setstock: bad number') end
end

local now = redis.call('HMGET', KEYS[1], 'stock', 'admitted', 'returned', 'inflight')
for i = 1, 4 do
  if now[i] ~= ARGV[i + 3] then return 0 end
end
local stock = math.max(0, tonumber(ARGV[3]) - redis.call('HLEN', KEYS[2]))
redis.call('HSET', KEYS[1], 'stock', stock)
if stock > tonumber(ARGV[4]) then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
return 1
