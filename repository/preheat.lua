-- Makes a voucher's gate from the database's state when there is none; otherwise refreshes the window alone, so
-- that a second preheat, or one during the sale, never adds stock.
--
-- KEYS[1] gate     hash: stock, begin_ms, end_ms, admitted, returned, inflight
-- KEYS[2] users    hash: user -> order that holds the user's unit
-- KEYS[3] pending  hash: order in flight -> voucher:user:ms
-- KEYS[4] load     hash: user -> live order, as loaded from the database for this call
-- ARGV[1] voucher
-- ARGV[2] capacity: stock left plus live orders in the database
-- ARGV[3] begin_ms, ARGV[4] end_ms (the end is exclusive)
-- ARGV[5] number of entries that were loaded
-- ARGV[6] channel that stock returns are published on
--
-- Replies with 1 when the gate was made, 0 when there was one.
--
-- redis-cli --eval preheat.lua 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' 'seckill:{gate:0}:pending' \
--   'seckill:{gate:0}:v:1:load:x' , 1 100 0 4102444800000 0 seckill:returns
local function is_count(s) return type(s) == 'string' and #s <= 15 and string.find(s, '^%d+$') ~= nil end

if #KEYS ~= 4 or #ARGV ~= 6 then return redis.error_reply('ERR preheat: 4 keys and 6 arguments expected') end
if #ARGV[1] > 19 or not string.find(ARGV[1], '^[1-9]%d*$') then return redis.error_reply('ERR preheat: bad voucher') end
if not (is_count(ARGV[2]) and is_count(ARGV[5])) then return redis.error_reply('ERR preheat: bad capacity or count') end
if not (is_count(ARGV[3]) and is_count(ARGV[4])) or tonumber(ARGV[3]) >= tonumber(ARGV[4]) then
  return redis.error_reply('ERR preheat: bad window')
end
if ARGV[6] == '' then return redis.error_reply('ERR preheat: empty channel') end

if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'begin_ms', ARGV[3], 'end_ms', ARGV[4])
  redis.call('DEL', KEYS[4])
  return 0
end
if redis.call('HLEN', KEYS[4]) ~= tonumber(ARGV[5]) then
  return redis.error_reply('ERR preheat: the loaded orders are incomplete')
end

-- Orders in flight of this voucher hold a unit too, unless the database already shows their user's order.
local inflight, holders = 0, {}
local pending = redis.call('HGETALL', KEYS[3])
for i = 1, #pending, 2 do
  local voucher, user = string.match(pending[i + 1], '^(%d+):(%d+):')
  if voucher == ARGV[1] then
    inflight = inflight + 1
    holders[user] = pending[i]
  end
end
redis.call('DEL', KEYS[2])
if tonumber(ARGV[5]) > 0 then
  redis.call('RENAME', KEYS[4], KEYS[2])
  redis.call('PERSIST', KEYS[2])
end
for user, order in pairs(holders) do redis.call('HSETNX', KEYS[2], user, order) end

local held = redis.call('HLEN', KEYS[2])
redis.call('HSET', KEYS[1], 'stock', math.max(0, tonumber(ARGV[2]) - held), 'begin_ms', ARGV[3], 'end_ms', ARGV[4],
  'admitted', held, 'returned', 0, 'inflight', inflight)
redis.call('PUBLISH', ARGV[6], ARGV[1])
return 1
