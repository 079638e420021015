-- Admits requests for units of one voucher, each with its own answer, and (for the stream path) enqueues the
-- admitted orders in the same step: there is no moment at which a unit is taken and its order is not queued.
--
-- KEYS[1] gate     hash: stock, begin_ms, end_ms, admitted, returned, inflight
-- KEYS[2] users    hash: user -> order that holds the user's unit
-- KEYS[3] pending  hash: order in flight -> voucher:user:ms
-- KEYS[4] stream   of accepted orders
-- ARGV[1] voucher
-- ARGV[2] 1: append admitted orders to the stream, 0: do not
-- ARGV[3] user, ARGV[4] order, ARGV[5] user, ARGV[6] order, ...   (1 to 256 pairs)
--
-- Replies with one text for each pair: admitted, sold_out, not_started, ended, not_preheated, or already:<order>.
-- A pair whose order holds the user's unit already is answered admitted again and changes nothing, so the call
-- can be repeated when a reply was lost. A malformed call is an error before the first write.
--
-- redis-cli --eval admit.lua 'seckill:{gate:0}:v:1' 'seckill:{gate:0}:v:1:users' 'seckill:{gate:0}:pending' \
--   'seckill:{gate:0}:stream' , 1 1 1001 5000001
local function is_id(s)
  return type(s) == 'string' and #s <= 19 and string.find(s, '^[1-9]%d*$') ~= nil
end

if #KEYS ~= 4 then return redis.error_reply('ERR admit: 4 keys expected') end
local n = (#ARGV - 2) / 2
if n < 1 or n > 256 or n ~= math.floor(n) then return redis.error_reply('ERR admit: 1 to 256 pairs expected') end
if not is_id(ARGV[1]) then return redis.error_reply('ERR admit: bad voucher') end
if ARGV[2] ~= '0' and ARGV[2] ~= '1' then return redis.error_reply('ERR admit: enqueue must be 0 or 1') end
local users = {}
for i = 1, n do
  local user, order = ARGV[2 * i + 1], ARGV[2 * i + 2]
  if not (is_id(user) and is_id(order)) then return redis.error_reply('ERR admit: bad user or order') end
  users[i] = user
end

local answers = {}
local gate = redis.call('HMGET', KEYS[1], 'stock', 'begin_ms', 'end_ms', 'admitted', 'inflight')
if not gate[1] then
  for i = 1, n do answers[i] = 'not_preheated' end
  return answers
end
local stock, begins, ends = tonumber(gate[1]), tonumber(gate[2]), tonumber(gate[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ms = string.format('%.0f', now)

local holds = {}  -- user -> order, this call's admissions included
local found = redis.call('HMGET', KEYS[2], unpack(users))
for i = 1, n do holds[users[i]] = found[i] or holds[users[i]] end

local taken, new_users, new_pending = {}, {}, {}
for i = 1, n do
  local user, order = users[i], ARGV[2 * i + 2]
  if holds[user] == order then
    answers[i] = 'admitted'
  elseif now < begins then
    answers[i] = 'not_started'
  elseif now >= ends then
    answers[i] = 'ended'
  elseif holds[user] then
    answers[i] = 'already:' .. holds[user]
  elseif stock < 1 then
    answers[i] = 'sold_out'
  else
    answers[i] = 'admitted'
    stock = stock - 1
    holds[user] = order
    taken[#taken + 1] = i
    new_users[#new_users + 1] = user
    new_users[#new_users + 1] = order
    new_pending[#new_pending + 1] = order
    new_pending[#new_pending + 1] = ARGV[1] .. ':' .. user .. ':' .. ms
  end
end

if #taken > 0 then
  redis.call('HSET', KEYS[2], unpack(new_users))
  redis.call('HSET', KEYS[3], unpack(new_pending))
  redis.call('HSET', KEYS[1], 'stock', stock, 'admitted', gate[4] + #taken, 'inflight', gate[5] + #taken)
  if ARGV[2] == '1' then
    for _, i in ipairs(taken) do
      redis.call('XADD', KEYS[4], '*', 'order', ARGV[2 * i + 2], 'voucher', ARGV[1], 'user', users[i], 'ms', ms)
    end
  end
end
return answers
