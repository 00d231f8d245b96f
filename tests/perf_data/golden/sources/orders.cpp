// Stands alone, so that its recording needs no other file.
static long call(long n, long a) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a) : "rcx", "r11", "memory"); return r; }
namespace shop {
template <class T> struct Pool { T all[64]; template <class F> __attribute__((noinline)) long sum(F f) const { long s = 0; for (int r = 0; r < 400; r++) for (const T& t : all) s += f(t, r); return s; } };
struct Item { long price; long tax() const { return price * 19 % 101; } bool operator<(const Item& o) const { return price < o.price; } };
struct Shape { virtual long visit(int d) const = 0; };
struct Deep : Shape { __attribute__((noinline)) long visit(int d) const override { if (!d) return 1; long s = 0; for (int i = 0; i < 3; i++) s += visit(d - 1) * i; return s; } };
namespace { __attribute__((noinline)) void sort(Item* a, int n) { for (int i = 1; i < n; i++) for (int j = i; j > 0 && a[j] < a[j - 1]; j--) { Item t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; } } }
}
static shop::Pool<shop::Item> pool; static shop::Deep deep; static shop::Item many[700];
int work() { for (int i = 0; i < 64; i++) pool.all[i].price = i * 7919 % 127; for (int i = 0; i < 700; i++) many[i].price = i * 7919 % 701; auto tax = [](const shop::Item& i, int r) { return i.tax() + r; }; const shop::Shape* s = &deep; shop::sort(many, 700); return (int)(pool.sum(tax) + s->visit(9) + many[3].price); }
extern "C" { __attribute__((naked, noreturn)) void _start() { __asm__("xor %ebp, %ebp\n.cfi_undefined rip\nand $-16, %rsp\ncall run"); }
__attribute__((noreturn, used)) void run() { int x = 0; for (int i = 0; i < 150; i++) x ^= work(); call(231, x == 12345); __builtin_unreachable(); }
void __cxa_pure_virtual() {} }
