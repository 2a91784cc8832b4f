/*
 * A library preloaded into a server. It makes file system calls fail and shifts the clock, controlled by a file.
 *
 * SIFTD_FAULTS names the control file. Every process with the library maps it, so a fault can begin and end
 * while the server runs. library.ts writes it. Its layout is `struct control`, little-endian. Only calls on
 * paths that match the pattern fail, so standard error and sockets never do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Bits of `control.calls`. */
enum {
  CALL_WRITE = 1 << 0,
  CALL_SYNC = 1 << 1,
  CALL_RENAME = 1 << 2,
  CALL_UNLINK = 1 << 3,
  CALL_TRUNCATE = 1 << 4,
  CALL_OPEN = 1 << 5,
  CALL_MKDIR = 1 << 6,
  CALL_MMAP = 1 << 7,
  CALL_ALLOCATE = 1 << 8,
  CALL_READ = 1 << 9,
  CALL_CREATE = 1 << 10,
};

/* Values of `control.error` that are not errno values. */
enum {
  /* The process dies as by kill -9. A write has written half of its bytes. */
  KILLED = 1 << 16,
  /* The disk is full: the first write is short, then calls that need space fail with ENOSPC. */
  FULL = 1 << 17,
};

/* Calls that fail on a full disk. */
enum { CALLS_FOR_SPACE = CALL_WRITE | CALL_MKDIR | CALL_ALLOCATE | CALL_CREATE };

struct control {
  /* 1 while the fault is active. */
  _Atomic uint32_t active;
  uint32_t calls;
  /* The errno of a failed call; 0 makes writes short instead. */
  uint32_t error;
  /* 1: the fault ends after the first failed call. */
  uint32_t once;
  /* Number of matching calls that succeed first. */
  _Atomic int32_t after;
  /* Number of failed calls. */
  _Atomic uint32_t hits;
  /* Seconds added to the date of the system. */
  _Atomic int64_t clock_shift;
  uint32_t unused[8];
  /* Pattern for fnmatch(3). Stars also match slashes. */
  char pattern[960];
};

static struct control *control;

__attribute__((constructor)) static void map_control(void) {
  const char *path = getenv("SIFTD_FAULTS");
  if (path == NULL) return;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void *mapped = (void *)syscall(SYS_mmap, NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapped != MAP_FAILED) control = mapped;
}

/* Returns 1 if this call on `path` must fail. Sets errno, 0 for a short write. */
static int fails_path(uint32_t call, const char *path) {
  if (control == NULL || atomic_load(&control->active) == 0 || (control->calls & call) == 0) return 0;
  if (path == NULL || fnmatch(control->pattern, path, 0) != 0) return 0;
  if (atomic_fetch_sub(&control->after, 1) > 0) return 0;
  if (control->error == FULL && (call & CALLS_FOR_SPACE) == 0) return 0;
  if (control->once != 0 && atomic_exchange(&control->active, 0) == 0) return 0;
  uint32_t before = atomic_fetch_add(&control->hits, 1);
  errno = (int)control->error;
  if (errno == FULL) errno = before == 0 && call == CALL_WRITE ? 0 : ENOSPC;
  if (errno == KILLED && call != CALL_WRITE) kill(getpid(), SIGKILL);
  return 1;
}

static int is_watched(uint32_t call) {
  return control != NULL && atomic_load(&control->active) != 0 && (control->calls & call) != 0;
}

static int fails_fd(uint32_t call, int fd) {
  if (fd < 0 || !is_watched(call)) return 0;
  int before = errno;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length < 0) return 0;
  path[length] = '\0';
  return fails_path(call, path);
}

/* A path relative to a directory descriptor is matched without that directory. */
#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WRITES(name, signature, arguments, shortened) \
  ssize_t name signature { \
    REAL(name); \
    if (fails_fd(CALL_WRITE, fd)) { \
      if (errno == KILLED) { \
        (void)!(shortened); \
        kill(getpid(), SIGKILL); \
      } \
      if (errno != 0) return -1; \
      return shortened; \
    } \
    return real arguments; \
  }

#define HALF(count) ((count) > 1 ? (count) / 2 : (count))

WRITES(write, (int fd, const void *from, size_t count), (fd, from, count), real(fd, from, HALF(count)))
WRITES(pwrite, (int fd, const void *from, size_t count, off_t at), (fd, from, count, at), real(fd, from, HALF(count), at))
WRITES(pwrite64, (int fd, const void *from, size_t count, off64_t at), (fd, from, count, at), real(fd, from, HALF(count), at))
WRITES(writev, (int fd, const struct iovec *from, int count), (fd, from, count), real(fd, from, 1))
WRITES(pwritev, (int fd, const struct iovec *from, int count, off_t at), (fd, from, count, at), real(fd, from, 1, at))
WRITES(pwritev64, (int fd, const struct iovec *from, int count, off64_t at), (fd, from, count, at), real(fd, from, 1, at))

ssize_t copy_file_range(int from, off64_t *from_at, int fd, off64_t *at, size_t count, unsigned int flags) {
  REAL(copy_file_range);
  if (fails_fd(CALL_WRITE, fd)) {
    if (errno == KILLED) {
      (void)!real(from, from_at, fd, at, HALF(count), flags);
      kill(getpid(), SIGKILL);
    }
    if (errno != 0) return -1;
    return real(from, from_at, fd, at, HALF(count), flags);
  }
  return real(from, from_at, fd, at, count, flags);
}

#define READS(name, signature, arguments) \
  ssize_t name signature { \
    REAL(name); \
    if (fails_fd(CALL_READ, fd) && errno != 0) return -1; \
    return real arguments; \
  }

READS(read, (int fd, void *into, size_t count), (fd, into, count))
READS(pread, (int fd, void *into, size_t count, off_t at), (fd, into, count, at))
READS(pread64, (int fd, void *into, size_t count, off64_t at), (fd, into, count, at))

/* Calls that return 0 or -1. Short-write faults do not apply to them. */
#define BY_FD(call, name, signature, arguments) \
  int name signature { \
    REAL(name); \
    if (fails_fd(call, fd) && errno != 0) return -1; \
    return real arguments; \
  }

#define BY_PATH(call, name, signature, arguments) \
  int name signature { \
    REAL(name); \
    if (fails_path(call, path) && errno != 0) return -1; \
    return real arguments; \
  }

BY_FD(CALL_SYNC, fsync, (int fd), (fd))
BY_FD(CALL_SYNC, fdatasync, (int fd), (fd))
BY_FD(CALL_TRUNCATE, ftruncate, (int fd, off_t length), (fd, length))
BY_FD(CALL_TRUNCATE, ftruncate64, (int fd, off64_t length), (fd, length))
BY_FD(CALL_ALLOCATE, fallocate, (int fd, int mode, off_t at, off_t length), (fd, mode, at, length))
BY_FD(CALL_ALLOCATE, fallocate64, (int fd, int mode, off64_t at, off64_t length), (fd, mode, at, length))
BY_PATH(CALL_RENAME, rename, (const char *path, const char *to), (path, to))
BY_PATH(CALL_RENAME, renameat, (int from, const char *path, int into, const char *to), (from, path, into, to))
BY_PATH(CALL_RENAME, link, (const char *path, const char *to), (path, to))
BY_PATH(CALL_RENAME, linkat, (int from, const char *path, int into, const char *to, int flags), (from, path, into, to, flags))
BY_PATH(CALL_UNLINK, unlink, (const char *path), (path))
BY_PATH(CALL_UNLINK, rmdir, (const char *path), (path))
BY_PATH(CALL_TRUNCATE, truncate, (const char *path, off_t length), (path, length))

/* mkdir of an existing directory must return EEXIST, whatever fault is active. */
static int fails_mkdir(int from, const char *path) {
  if (!is_watched(CALL_MKDIR)) return 0;
  int before = errno;
  int is_there = faccessat(from, path, F_OK, 0) == 0;
  errno = before;
  return !is_there && fails_path(CALL_MKDIR, path) && errno != 0;
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return fails_mkdir(AT_FDCWD, path) ? -1 : real(path, mode);
}

int mkdirat(int from, const char *path, mode_t mode) {
  REAL(mkdirat);
  return fails_mkdir(from, path) ? -1 : real(from, path, mode);
}

/* A relative path is below the directory `fd`, so the pattern is matched against that directory. */
int unlinkat(int fd, const char *path, int flags) {
  REAL(unlinkat);
  int fails = path[0] == '/' ? fails_path(CALL_UNLINK, path) : fails_fd(CALL_UNLINK, fd);
  if (fails && errno != 0) return -1;
  return real(fd, path, flags);
}

/* posix_fallocate returns the error instead of setting errno. */
int posix_fallocate(int fd, off_t at, off_t length) {
  REAL(posix_fallocate);
  int before = errno;
  if (fails_fd(CALL_ALLOCATE, fd) && errno != 0) {
    int error = errno;
    errno = before;
    return error;
  }
  return real(fd, at, length);
}

int posix_fallocate64(int fd, off64_t at, off64_t length) {
  REAL(posix_fallocate64);
  int before = errno;
  if (fails_fd(CALL_ALLOCATE, fd) && errno != 0) {
    int error = errno;
    errno = before;
    return error;
  }
  return real(fd, at, length);
}

/* Monotonic clocks, which measure timeouts, are not shifted: setting the date does not change them either. */
static int64_t clock_shift(void) { return control == NULL ? 0 : atomic_load(&control->clock_shift); }

int clock_gettime(clockid_t clock, struct timespec *at) {
  REAL(clock_gettime);
  int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += clock_shift();
  return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  REAL(gettimeofday);
  int result = real(at, zone);
  if (result == 0) at->tv_sec += clock_shift();
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return (time_t)-1;
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}

/* The mode argument exists only with these flags. */
#define MODE_OF(flags, mode) \
  mode_t mode = 0; \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list given; \
    va_start(given, flags); \
    mode = va_arg(given, mode_t); \
    va_end(given); \
  }

/* On a full disk an existing file can be opened, but a new one can rarely be created. */
static int fails_open(int flags, const char *path) {
  if (fails_path(CALL_OPEN, path)) return 1;
  if ((flags & O_CREAT) == 0 || !is_watched(CALL_CREATE)) return 0;
  int before = errno;
  int is_there = faccessat(AT_FDCWD, path, F_OK, 0) == 0;
  errno = before;
  return !is_there && fails_path(CALL_CREATE, path);
}

#define OPENS(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    MODE_OF(flags, mode) \
    if (fails_open(flags, path) && errno != 0) return -1; \
    return real(path, flags, mode); \
  }

OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
  int name(int from, const char *path, int flags, ...) { \
    REAL(name); \
    MODE_OF(flags, mode) \
    if (fails_open(flags, path) && errno != 0) return -1; \
    return real(from, path, flags, mode); \
  }

OPENS_AT(openat)
OPENS_AT(openat64)

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  REAL(mmap);
  if (fails_fd(CALL_MMAP, fd) && errno != 0) return MAP_FAILED;
  return real(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  REAL(mmap64);
  if (fails_fd(CALL_MMAP, fd) && errno != 0) return MAP_FAILED;
  return real(at, length, protection, flags, fd, offset);
}
