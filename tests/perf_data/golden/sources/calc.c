/* Stands alone, so that its recording needs no other file. */
static long call(long n, long a, long b, long c) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
static inline __attribute__((always_inline)) unsigned mix(unsigned x) { return x * 2654435761u ^ x >> 13; }
static inline __attribute__((always_inline)) unsigned twice(unsigned x) { return mix(mix(x) + 1); }
__attribute__((noinline)) static unsigned spin(unsigned n) { unsigned x = n; for (unsigned i = 0; i < 4000; i++) x = twice(x + i); return x; }
__attribute__((noinline)) static unsigned walk(int depth, unsigned x) { if (!depth) return spin(x); return walk(depth - 1, x + 1) ^ (unsigned)depth; }
__attribute__((noinline)) static unsigned aligned(unsigned n) { volatile unsigned room[16] __attribute__((aligned(64))); for (int i = 0; i < 16; i++) room[i] = spin(n + (unsigned)i); return room[n % 16]; }
int work(void) { unsigned x = 0; for (int i = 0; i < 40; i++) { x ^= walk(i % 12, x); x ^= aligned(x); } return (int)x; }
__attribute__((naked, noreturn)) void _start(void) { __asm__("xor %ebp, %ebp\n.cfi_undefined rip\nand $-16, %rsp\ncall run"); }
__attribute__((noreturn, used)) void run(void) { int x = 0; for (int i = 0; i < 6; i++) x ^= work(); call(231, x == 12345, 0, 0); __builtin_unreachable(); }
