-- Makes the gate count a live order of the database that it does not know (written after the gate was made from
-- an older snapshot): one holder more, one unit less.
--
-- KEYS[1] gate, KEYS[2] users
-- ARGV[1] user, ARGV[2] order
--
-- Replies with 1 when the order was adopted, 0 when the user holds a unit already or there is no gate.
--
-- redis-cli --eval adopt.lua 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' , 1001 5000001
local function is_id(s) return #s <= 19 and string.find(s, '^[1-9]%d*$') ~= nil end

if #KEYS ~= 2 or #ARGV ~= 2 then return redis.error_reply('ERR adopt: 2 keys and 2 arguments expected') end
if not (is_id(ARGV[1]) and is_id(ARGV[2])) then return redis.error_reply('ERR adopt: bad user or order') end

local stock = redis.call('HGET', KEYS[1], 'stock')
if not stock or redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'admitted', 1)
-- With no unit left the gate has admitted one too many; the database will refuse that one without a restock.
if tonumber(stock) > 0 then redis.call('HINCRBY', KEYS[1], 'stock', -1) end
return 1
