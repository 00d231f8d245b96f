/* Functions within functions, calls to other objects, aliases; nothing of a C library is needed
   to link it. */
typedef unsigned long size_t;
void *malloc(size_t);
void free(void *);
int puts(const char *);

struct order {
    long price, count;
    struct order *next;
};

static inline __attribute__((always_inline)) long line_total(const struct order *o)
{
    return o->price * o->count;
}

static inline __attribute__((always_inline)) long with_tax(const struct order *o)
{
    long total = line_total(o);
    return total + total / 5;
}

__attribute__((noinline)) long sum_orders(const struct order *o)
{
    long sum = 0;
    for (; o; o = o->next)
        sum += with_tax(o);
    return sum;
}

long sum_orders_alias(const struct order *) __attribute__((alias("sum_orders")));
long __sum_orders_weak(const struct order *) __attribute__((weak, alias("sum_orders")));

static __attribute__((noinline)) int check(const struct order *o)
{
    if (__builtin_expect(o->count < 0, 0)) {
        puts("negative");
        __builtin_trap();
    }
    return o->count > 0;
}

struct order *add_order(struct order *list, long price, long count)
{
    struct order *o = malloc(sizeof *o);
    o->price = price;
    o->count = count;
    o->next = list;
    if (!check(o)) {
        free(o);
        return list;
    }
    return o;
}
