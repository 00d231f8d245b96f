-- As orders.c.
local bit = require("bit")

function orders_work(parts)
  local x = 88172645
  for _ = 1, parts * 20000 do
    x = bit.bxor(x, bit.lshift(x, 13))
    x = bit.bxor(x, bit.rshift(x, 17))
    x = bit.bxor(x, bit.lshift(x, 5))
  end
  return x
end
function orders_parse() return orders_work(1) + 1 end
function orders_price() return orders_work(2) + 1 end
function orders_report() return orders_work(5) + 1 end
function orders_run(seconds)
  local sum, stop = 0, os.clock() + seconds
  while os.clock() < stop do sum = sum + orders_parse() + orders_price() + orders_report() end
  return sum
end
local sum = orders_run(tonumber(arg[1] or 2))
if sum == 1 then print(sum) end
