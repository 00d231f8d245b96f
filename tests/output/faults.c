/* Lets a call of the C library fail: for tests, preloaded into the programs.
 *
 * FAULT=CALL:N:WHAT fails the Nth CALL (from 1) with WHAT: an error's number, `short` for a count
 * of one byte, `signal` for a SIGTERM on the way in, `signals` for more than one request, or `kill`
 * for a SIGKILL.
 * When it happened, FAULT_FIRED is created. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int count;

/* Signals that come shortly after the first are the same request: sends them for longer than that. */
static void insist(pid_t program) {
  pid_t child = syscall(SYS_fork);
  if (child) {
    while (syscall(SYS_wait4, child, 0, 0, 0) < 0 && errno == EINTR) {}
    return;
  }
  for (int n = 0; n < 50 && !kill(program, SIGTERM); n++) usleep(20000);
  _exit(0);
}

/* Returns 0 to go on, -1 to fail with errno, 1 for a short count. */
static int fault(const char *call) {
  const char *wanted = getenv("FAULT");
  size_t length = strlen(call);
  if (!wanted || strncmp(program_invocation_short_name, "fg-", 3)) return 0;
  if (strncmp(wanted, call, length) || wanted[length] != ':') return 0;
  char *end;
  long at = strtol(wanted + length + 1, &end, 10);
  if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) != at) return 0;
  const char *fired = getenv("FAULT_FIRED");
  if (fired) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, fired, O_CREAT | O_WRONLY, 0600));
  if (!strcmp(end, ":short")) return 1;
  if (!strcmp(end, ":kill")) kill(getpid(), SIGKILL);
  if (!strcmp(end, ":signals")) insist(getpid());
  if (!strncmp(end, ":signal", 7)) return kill(getpid(), SIGTERM), 0;
  errno = atoi(end + 1);
  return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Of the program's own files; messages on standard error are let through. */
ssize_t write(int fd, const void *bytes, size_t size) {
  int how = fd == 2 ? 0 : fault("write");
  return how < 0 ? -1 : REAL(write)(fd, bytes, how && size ? 1 : size);
}
ssize_t read(int fd, void *bytes, size_t size) {
  int how = fault("read");
  return how < 0 ? -1 : REAL(read)(fd, bytes, how && size ? 1 : size);
}
ssize_t pread64(int fd, void *bytes, size_t size, off64_t at) {
  int how = fault("at");
  return how < 0 ? -1 : REAL(pread64)(fd, bytes, how && size ? 1 : size, at);
}
off64_t lseek64(int fd, off64_t at, int from) { return fault("seek") < 0 ? -1 : REAL(lseek64)(fd, at, from); }
int statx(int fd, const char *path, int flags, unsigned wanted, struct statx *facts) {
  return fault("stat") < 0 ? -1 : REAL(statx)(fd, path, flags, wanted, facts);
}
int open64(const char *path, int flags, ...) {
  __builtin_va_list rest;
  __builtin_va_start(rest, flags);
  mode_t mode = __builtin_va_arg(rest, mode_t);
  __builtin_va_end(rest);
  return fault("open") < 0 ? -1 : REAL(open64)(path, flags, mode);
}
int rename(const char *from, const char *to) { return fault("rename") < 0 ? -1 : REAL(rename)(from, to); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
  return fault("link") < 0 ? -1 : REAL(linkat)(a, from, b, to, flags);
}
int fdatasync(int fd) { return fault("sync") < 0 ? -1 : REAL(fdatasync)(fd); }
int fchmod(int fd, mode_t mode) { return fault("chmod") < 0 ? -1 : REAL(fchmod)(fd, mode); }
int ftruncate64(int fd, off64_t size) { return fault("truncate") < 0 ? -1 : REAL(ftruncate64)(fd, size); }
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
  /* Files only: memory that cannot be had ends any program. */
  return fd >= 0 && fault("map") < 0 ? MAP_FAILED : REAL(mmap64)(at, size, protection, flags, fd, offset);
}
