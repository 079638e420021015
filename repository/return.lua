-- Gives units back, each exactly once: what proves that an order holds a unit is its entry in the users hash,
-- and whoever removes the entry gives the unit back. Announces vouchers whose stock grew.
--
-- KEYS[1] pending  hash: order in flight -> voucher:user:ms
-- KEYS[2] gate, KEYS[3] users, and so on, in pairs, one for each voucher that occurs
-- ARGV[1] channel that stock returns are published on
-- ARGV[2] number of the pair (1 is KEYS[2], KEYS[3]), ARGV[3] voucher, ARGV[4] user, ARGV[5] order,
-- ARGV[6] 1: stock grows, 0: it does not (the database had no unit for this order); and so on, in fives
--
-- Replies with 1 for each order whose unit went back now, else 0. Repeated: 0, nothing changes.
--
-- redis-cli --eval return.lua 'seckill:{gate:0}:pending' 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' , \
--   seckill:returns 1 1 1001 5000001 1
local function is_id(s) return #s <= 19 and string.find(s, '^[1-9]%d*$') ~= nil end

local n = (#ARGV - 1) / 5
if #KEYS < 3 or #KEYS % 2 ~= 1 then return redis.error_reply('ERR return: pending and pairs of keys expected') end
if n < 1 or n ~= math.floor(n) then return redis.error_reply('ERR return: channel and fives expected') end
if ARGV[1] == '' then return redis.error_reply('ERR return: empty channel') end
for i = 1, n do
  local at = 5 * i - 3
  if #ARGV[at] > 4 or not is_id(ARGV[at]) or not KEYS[2 * tonumber(ARGV[at]) + 1] then
    return redis.error_reply('ERR return: bad number of a pair')
  end
  if not (is_id(ARGV[at + 1]) and is_id(ARGV[at + 2]) and is_id(ARGV[at + 3])) then
    return redis.error_reply('ERR return: bad voucher, user or order')
  end
  if ARGV[at + 4] ~= '0' and ARGV[at + 4] ~= '1' then
    return redis.error_reply('ERR return: restock must be 0 or 1')
  end
end

local answers, grown = {}, {}
for i = 1, n do
  local at = 5 * i - 3
  local voucher, user, order = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local gate, users = KEYS[2 * tonumber(ARGV[at])], KEYS[2 * tonumber(ARGV[at]) + 1]
  local made = redis.call('EXISTS', gate) == 1
  if redis.call('HDEL', KEYS[1], order) == 1 and made then redis.call('HINCRBY', gate, 'inflight', -1) end
  answers[i] = 0
  if redis.call('HGET', users, user) == order then
    redis.call('HDEL', users, user)
    answers[i] = 1
    if made then
      redis.call('HINCRBY', gate, 'returned', 1)
      if ARGV[at + 4] == '1' then
        redis.call('HINCRBY', gate, 'stock', 1)
        grown[voucher] = true
      end
    end
  end
end
for voucher in pairs(grown) do redis.call('PUBLISH', ARGV[1], voucher) end
return answers
