-- Settles orders that stand in the database: they are no longer in flight, and their messages leave the stream.
--
-- KEYS[1] pending  hash: order in flight -> voucher:user:ms
-- KEYS[2] stream   of accepted orders
-- KEYS[3] gate, KEYS[4] gate, ...   one for each voucher that occurs
-- ARGV[1] consumer group
-- ARGV[2] number of the gate (1 is KEYS[3]), ARGV[3] order, ARGV[4] message id or '', and so on, in threes
--
-- Replies with the number of orders that were in flight until now. Repeated: 0, nothing changes.
--
-- redis-cli --eval done.lua 'seckill:{gate:0}:pending' 'seckill:{gate:0}:stream' 'seckill:{gate:0}:v:1' , \
--   writers 1 5000001 ''
local n = (#ARGV - 1) / 3
if #KEYS < 3 then return redis.error_reply('ERR done: pending, stream and a gate expected') end
if n < 1 or n ~= math.floor(n) then return redis.error_reply('ERR done: group and threes expected') end
if ARGV[1] == '' then return redis.error_reply('ERR done: empty group') end
for i = 1, n do
  local gate, order, message = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  if #gate > 4 or not string.find(gate, '^[1-9]%d*$') or not KEYS[2 + tonumber(gate)] then
    return redis.error_reply('ERR done: bad number of a gate')
  end
  if #order > 19 or not string.find(order, '^[1-9]%d*$') then return redis.error_reply('ERR done: bad order') end
  if message ~= '' and not string.find(message, '^%d+%-%d+$') then
    return redis.error_reply('ERR done: bad message id')
  end
end

local settled, total = {}, 0
for i = 1, n do
  local gate, order, message = KEYS[2 + tonumber(ARGV[3 * i - 1])], ARGV[3 * i], ARGV[3 * i + 1]
  if redis.call('HDEL', KEYS[1], order) == 1 then
    settled[gate] = (settled[gate] or 0) + 1
    total = total + 1
  end
  if message ~= '' then
    redis.call('XACK', KEYS[2], ARGV[1], message)
    redis.call('XDEL', KEYS[2], message)
  end
end
for i = 3, #KEYS do
  local k = settled[KEYS[i]]
  settled[KEYS[i]] = nil  -- a gate named twice counts once
  if k and redis.call('EXISTS', KEYS[i]) == 1 then redis.call('HINCRBY', KEYS[i], 'inflight', -k) end
end
return total
