// As orders.c.
function orders_work(parts) {
  let x = 88172645;
  for (let n = parts * 4000; n > 0; n--) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  return x;
}
function orders_parse() { return orders_work(1) + 1; }
function orders_price() { return orders_work(2) + 1; }
function orders_report() { return orders_work(5) + 1; }
function orders_run(until) {
  let sum = 0;
  while (Date.now() < until) sum += orders_parse() + orders_price() + orders_report();
  return sum;
}
const sum = orders_run(Date.now() + 1000 * Number(process.argv[2] || 2));
if (sum === 1) console.log(sum);
