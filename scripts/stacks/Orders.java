/** As orders.c. */
public class Orders {
    static long orders_work(int parts) {
        long x = 88172645463325252L;
        for (int n = parts * 4000; n > 0; n--) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    static long orders_parse() { return orders_work(1) + 1; }

    static long orders_price() { return orders_work(2) + 1; }

    static long orders_report() { return orders_work(5) + 1; }

    static long orders_run(long until) {
        long sum = 0;
        while (System.nanoTime() < until) sum += orders_parse() + orders_price() + orders_report();
        return sum;
    }

    public static void main(String[] arguments) {
        double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 2;
        long sum = orders_run(System.nanoTime() + (long) (seconds * 1e9));
        if (sum == 1) System.out.println(sum);
    }
}
