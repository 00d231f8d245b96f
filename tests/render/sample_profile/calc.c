// The program of the recordings of branches and of samples: inlined functions, an unrolled loop,
// calls through pointers, recursion.
#include <stdio.h>
#include <stdlib.h>

static unsigned state = 1;

static inline unsigned next(void) {
  state = state * 1103515245u + 12345u;
  return state >> 16;
}

static inline long weigh(long a, long b) {
  return a > b ? a - b : (b & 1) ? b : a * 3;
}

__attribute__((noinline)) static long add(long a, long b) { return a + weigh(a, b); }
__attribute__((noinline)) static long mix(long a, long b) { return a ^ b; }

__attribute__((noinline)) static long sum(const int *numbers, int count) {
  long total = 0;
  for (int i = 0; i < count; i++) total += numbers[i] & 1 ? numbers[i] : weigh(numbers[i], i);
  return total;
}

__attribute__((noinline)) static long climb(int steps) {
  return steps < 2 ? 1 : climb(steps - 1) + climb(steps - 2);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 100, numbers[256];
  long total = 0;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < 256; i++) numbers[i] = (int)next();
    long (*call)(long, long) = next() % 8 ? add : mix;
    total = call(total, sum(numbers, 256)) + climb(round % 12);
  }
  printf("%ld\n", total);
  return 0;
}
