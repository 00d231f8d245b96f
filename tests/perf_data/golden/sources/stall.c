#define _GNU_SOURCE
// A server that stalls for 80 ms of each second: a timer rebuilds an index while it holds the lock that
// every request needs.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void __attribute__((noinline)) work_until(uint64_t end) {
    while (now() < end)
        for (int i = 0; i < 2000; i++) sink += i * i;
}

static void __attribute__((noinline)) rebuild_index(uint64_t end) {
    work_until(end);
    sink++;
}

static void __attribute__((noinline)) handle_request(uint64_t end) {
    pthread_mutex_lock(&lock);
    work_until(end);
    pthread_mutex_unlock(&lock);
}

static uint64_t end;

static void *timer(void *nothing) {
    (void)nothing;
    for (uint64_t next = now() + 500000000; next < end; next += 1000000000) {
        struct timespec t = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        pthread_mutex_lock(&lock);
        rebuild_index(now() + 80000000);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(int argc, char **argv) {
    end = now() + (argc > 1 ? strtoull(argv[1], 0, 10) : 5) * 1000000000ull;
    pthread_t thread;
    pthread_create(&thread, 0, timer, 0);
    pthread_setname_np(thread, "timer");
    while (now() < end) {
        handle_request(now() + 2000000);
        struct timespec pause = {0, 3000000};
        nanosleep(&pause, 0);
    }
    return 0;
}
