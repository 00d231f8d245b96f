/* Computes in three functions, one, two and five parts of the time: orders_parse, orders_price and orders_report, all
 * below orders_run. `orders SECONDS [MANNER [NUMBER]]`; the manner says where orders_run is called from.
 * scripts/stacks/stacks compiles it in many ways and looks for those shares in its profiles. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* What is called after a function's work keeps its last call from becoming a jump. */
#define OWN __attribute__((noinline, noclone, noipa))

static double seconds;
static volatile uint64_t kept;

OWN void orders_keep(uint64_t x) { kept += x; }

OWN uint64_t orders_work(long parts) {
  uint64_t x = 88172645463325252u;
  for (long n = parts * 40000; n; n--) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

OWN void orders_parse(void) { orders_keep(orders_work(1)); }
OWN void orders_price(void) { orders_keep(orders_work(2)); }
OWN void orders_report(void) { orders_keep(orders_work(5)); }

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

OWN void orders_run(void) {
  double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
  do {
    orders_parse();
    orders_price();
    orders_report();
  } while (now(CLOCK_THREAD_CPUTIME_ID) < end);
  orders_keep(1);
}

/* A recursion whose frames have 80 bytes or more; it works at its end. */
OWN void orders_deep(long depth) {
  volatile char room[48];
  room[0] = (char)depth;
  if (depth == 0)
    orders_run();
  else
    orders_deep(depth - 1);
  orders_keep((uint64_t)room[0]);
}

/* A recursion that works at every level, on its way down. */
OWN void orders_dive(long depth) {
  volatile char room[48];
  room[0] = (char)depth;
  orders_run();
  if (depth > 1)
    orders_dive(depth - 1);
  orders_keep((uint64_t)room[0]);
}

static void *in_thread(void *unused) {
  orders_run();
  return unused;
}

static void on_signal(int number) {
  (void)number;
  orders_run();
}

#ifdef __GLIBC__
static ucontext_t first, second;

static void in_coroutine(void) {
  orders_run();
  orders_keep(2);
}
#endif

int main(int argc, char **argv) {
  seconds = argc > 1 ? atof(argv[1]) : 2;
  const char *manner = argc > 2 ? argv[2] : "plain";
  long number = argc > 3 ? atol(argv[3]) : 1;
  if (!strcmp(manner, "plain")) {
    orders_run();
  } else if (!strcmp(manner, "deep")) {
    orders_deep(number);
  } else if (!strcmp(manner, "dive")) {
    seconds /= (double)number;
    orders_dive(number);
  } else if (!strcmp(manner, "threads")) {
    pthread_t *threads = calloc((size_t)number, sizeof *threads);
    /* Long enough for some samples of each. */
    seconds *= 4 / (double)number;
    for (long n = 0; n < number; n++)
      if (pthread_create(threads + n, NULL, in_thread, NULL))
        return 1;
    for (long n = 0; n < number; n++)
      pthread_join(threads[n], NULL);
  } else if (!strcmp(manner, "signal")) {
    stack_t other = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
#ifdef __GLIBC__
  } else if (!strcmp(manner, "coroutine")) {
    getcontext(&second);
    second.uc_stack.ss_sp = malloc(1 << 17);
    second.uc_stack.ss_size = 1 << 17;
    second.uc_link = &first;
    makecontext(&second, in_coroutine, 0);
    swapcontext(&first, &second);
#endif
  } else if (!strcmp(manner, "processes")) {
    /* Programs that live for 10 ms each. */
    for (double end = now(CLOCK_MONOTONIC) + seconds; now(CLOCK_MONOTONIC) < end;) {
      if (!fork()) {
        execl("/proc/self/exe", "orders", "0.01", (char *)NULL);
        _exit(127);
      }
      wait(NULL);
    }
  } else if (!strcmp(manner, "gone")) {
    unlink(argv[0]);
    orders_run();
  } else {
    fprintf(stderr, "orders: no manner %s\n", manner);
    return 2;
  }
  return 0;
}
