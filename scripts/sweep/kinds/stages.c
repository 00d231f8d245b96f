/* Kinds of work in turns: the C programs of scripts/sweep/kinds. -DLOCK has four threads that take jobs and
   update a table behind a mutex, -DIO has files between the stages. HOT and ALL are the work in percent. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define HOT 100
#define ALL 100
#define FUNCTION __attribute__((noinline)) static
#define REPEAT(times) for (unsigned turn = 0; turn < (times) * ALL / 100; turn++)
#define CELLS 256
#ifdef IO
#define SUMS 60
#else
#define SUMS 20
#endif
struct job { uint32_t cells[CELLS]; char text[512]; uint32_t result; };
static uint32_t table[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

FUNCTION void generate(struct job *job, uint32_t seed) {
  REPEAT(40) for (unsigned i = 0; i < CELLS; i++) { seed = seed * 1664525 + 1013904223 + turn; job->cells[i] = seed >> 3; }
}
FUNCTION void spell(struct job *job) {
  REPEAT(20) for (unsigned i = 0; i < 64; i++) {
    uint32_t cell = job->cells[(i + turn) % CELLS];
    for (unsigned n = 0; n < 8; n++) job->text[i * 8 + n] = "etaoinshrdlucmf "[cell >> n * 4 & 15];
  }
}
FUNCTION unsigned words(const struct job *job) {
  unsigned found = 0;
  REPEAT(20) for (unsigned i = 1; i < sizeof job->text; i++) found += (job->text[i] == ' ') & (job->text[i - 1] != ' ');
  return found;
}
FUNCTION uint32_t checksum(const struct job *job, uint32_t hash) { // hot
  REPEAT(SUMS * HOT / 100) for (unsigned i = 0; i < sizeof job->text; i++) hash = (hash ^ (uint8_t)job->text[i]) * 16777619u;
  return hash;
}
FUNCTION void order(struct job *job) {
  REPEAT(100) {
    uint32_t *cells = job->cells + turn % 8 * 32;
    for (unsigned i = 1; i < 32; i++) {
      uint32_t cell = cells[i] ^ turn, at = i;
      while (at > 0 && cells[at - 1] > cell) { cells[at] = cells[at - 1]; at--; }
      cells[at] = cell;
    }
  }
}
FUNCTION uint32_t match(const struct job *job) {
  uint32_t sum = 0;
  REPEAT(20) for (unsigned i = 64; i < sizeof job->text - 8; i++) {
    unsigned length = 0;
    while (length < 8 && job->text[i - 61 + length] == job->text[i + length]) length++;
    sum += length * i;
  }
  return sum;
}
FUNCTION double smooth(const struct job *job) {
  double last = 0;
  REPEAT(20) for (unsigned i = 0; i < CELLS; i++) last = last * 0.9 + job->cells[i] * 0.1;
  return last;
}
FUNCTION unsigned bits(const struct job *job) {
  unsigned count = 0;
  REPEAT(10) for (unsigned i = 0; i < CELLS; i++) for (uint32_t cell = job->cells[i] + turn; cell; cell &= cell - 1) count++;
  return count;
}
FUNCTION double product(const struct job *job) {
  double out[12][12] = {{0}};
  REPEAT(30) for (int i = 0; i < 12; i++) for (int j = 0; j < 12; j++) for (int k = 0; k < 12; k++)
    out[i][j] += job->cells[i * 12 + k] * 1e-9 * job->cells[k * 12 + j];
  return out[3][4] + out[11][2];
}
FUNCTION int format(const struct job *job) {
  char line[64];
  int length = 0;
  REPEAT(100) length += snprintf(line, sizeof line, "%u:%x", job->cells[turn % CELLS], turn);
  return length;
}
FUNCTION void look_up(struct job *job) {
#ifdef LOCK
  REPEAT(100) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < 32; i++) table[(job->cells[i] + turn) * 2654435761u >> 20]++;
    pthread_mutex_unlock(&lock);
  }
#else
  REPEAT(100) for (unsigned i = 0; i < 32; i++) table[(job->cells[i] + turn) * 2654435761u >> 20]++;
#endif
}
FUNCTION void store(struct job *job) {
#ifdef IO
  char name[] = "io-XXXXXX";
  int file = mkstemp(name);
  REPEAT(20) if (write(file, job->text, sizeof job->text) < 0) abort();
  lseek(file, 0, SEEK_SET);
  REPEAT(20) if (read(file, job->text, sizeof job->text) < 0) abort();
  static unsigned stored;
  if (++stored % 64 == 0) fsync(file);
  close(file);
  unlink(name);
#else
  REPEAT(20) memmove(job->text + 8, job->text, sizeof job->text - 8);
#endif
}
FUNCTION void read_stage(struct job *job, uint32_t seed) {
  generate(job, seed);
  spell(job);
  uint32_t hash = words(job);
  hash = checksum(job, hash); // call
  job->result = hash;
  store(job);
}
FUNCTION void work_stage(struct job *job) {
  order(job);
  job->result += match(job) + bits(job) + (uint32_t)(smooth(job) + product(job)) + (uint32_t)format(job);
  look_up(job);
}
static unsigned rounds, next;
static void *worker(void *result) {
  struct job job;
  for (unsigned number; (number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < rounds;) {
    read_stage(&job, number);
    work_stage(&job);
    *(uint32_t *)result += job.result;
  }
  return NULL;
}
int main(int argc, char **argv) {
  uint32_t sums[4] = {0};
  rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
#ifdef LOCK
  pthread_t threads[4];
  for (int n = 0; n < 4; n++) pthread_create(&threads[n], NULL, worker, &sums[n]);
  for (int n = 0; n < 4; n++) pthread_join(threads[n], NULL);
#else
  worker(&sums[0]);
#endif
  printf("%u\n", sums[0] + sums[1] + sums[2] + sums[3] + table[7]);
}
