/* Makes system calls of a gate fail, and shifts its clocks. Loaded with LD_PRELOAD.
 *
 * The file named by CHAOS_CONTROL is mapped as `struct control`; `shim.py` writes to it while the gate runs. Only files
 * below `home` are affected by `fail_ops`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { OP_WRITE = 1, OP_SYNC = 2, OP_OPEN = 4, OP_TRUNCATE = 8, OP_NAME = 16 };
enum { NO_OPEN = 1, NO_SOCKET = 2, NO_ACCEPT = 4 };
enum { HIT_WRITE, HIT_SYNC, HIT_OPEN, HIT_TRUNCATE, HIT_NAME, HIT_THREAD, HIT_FILES, HIT_CLOCK };

struct control {
    _Atomic int32_t fail_ops;    /* the calls that fail, as a mask of OP_ */
    _Atomic int32_t fail_errno;
    _Atomic int32_t fail_after;  /* calls that still succeed */
    _Atomic int32_t fail_times;  /* calls that fail after that; -1: all */
    _Atomic int32_t short_write; /* writes only half instead of failing */
    _Atomic int32_t no_threads;
    _Atomic int32_t no_files;    /* a mask of NO_ */
    int32_t unused;
    _Atomic int64_t real_ns;     /* added to the wall clock */
    _Atomic int64_t boot_ns;     /* added to the clock that includes sleep */
    _Atomic int32_t hits[8];     /* calls that failed or were shifted, by HIT_ */
    char home[1024];
};

static struct control nothing;
static struct control *control = &nothing;

#define REAL(name) ((__typeof__(&name))real(&real_##name, #name))
#define DECLARE(name) static void *real_##name

static void *real(void **slot, const char *name) {
    if (!*slot) *slot = dlsym(RTLD_NEXT, name);
    return *slot;
}

DECLARE(open); DECLARE(open64); DECLARE(openat); DECLARE(openat64); DECLARE(write); DECLARE(pwrite); DECLARE(pwrite64);
DECLARE(fsync); DECLARE(fdatasync); DECLARE(ftruncate); DECLARE(ftruncate64); DECLARE(unlink); DECLARE(rename);
DECLARE(mkdir); DECLARE(clock_gettime); DECLARE(gettimeofday); DECLARE(time); DECLARE(pthread_create); DECLARE(socket);
DECLARE(accept); DECLARE(accept4);

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("CHAOS_CONTROL");
    if (!path) return;
    int fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED) control = map;
}

static int below_home(const char *path) {
    size_t length = strlen(control->home);
    return length && strncmp(path, control->home, length) == 0 && path[length] == '/';
}

static int fd_below_home(int fd) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below_home(path);
}

/* Whether this call fails now. */
static int due(int hit) {
    if (atomic_load(&control->fail_after) > 0 && atomic_fetch_sub(&control->fail_after, 1) > 0) return 0;
    int32_t times = atomic_load(&control->fail_times);
    while (times != 0) {
        if (times < 0 || atomic_compare_exchange_weak(&control->fail_times, &times, times - 1)) {
            atomic_fetch_add(&control->hits[hit], 1);
            return 1;
        }
    }
    return 0;
}

static int wanted(int op) { return atomic_load(&control->fail_ops) & op; }
static int fail_fd(int op, int hit, int fd) { return wanted(op) && fd_below_home(fd) && due(hit); }
static int fail_path(int op, int hit, const char *path) { return wanted(op) && path && below_home(path) && due(hit); }
static int refuse(void) { errno = atomic_load(&control->fail_errno); return -1; }

static int no_files(int kind) {
    if (!(atomic_load(&control->no_files) & kind)) return 0;
    atomic_fetch_add(&control->hits[HIT_FILES], 1);
    errno = EMFILE;
    return 1;
}

static int fail_open(const char *path, int flags) {
    if (no_files(NO_OPEN)) return 1;
    if (!(flags & (O_WRONLY | O_RDWR | O_CREAT)) || !fail_path(OP_OPEN, HIT_OPEN, path)) return 0;
    refuse();
    return 1;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags) return fail_open(path, flags) ? -1 : REAL(open)(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return fail_open(path, flags) ? -1 : REAL(open64)(path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags) return fail_open(path, flags) ? -1 : REAL(openat)(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags) return fail_open(path, flags) ? -1 : REAL(openat64)(dir, path, flags, mode); }

/* Returns the number of bytes to write, or -1 to fail. */
static ssize_t allowed(int fd, size_t size) {
    if (!fail_fd(OP_WRITE, HIT_WRITE, fd)) return (ssize_t)size;
    if (atomic_load(&control->short_write) && size > 1) return (ssize_t)(size / 2);
    return refuse();
}

ssize_t write(int fd, const void *data, size_t size) { ssize_t n = allowed(fd, size); return n < 0 ? n : REAL(write)(fd, data, (size_t)n); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { ssize_t n = allowed(fd, size); return n < 0 ? n : REAL(pwrite)(fd, data, (size_t)n, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { ssize_t n = allowed(fd, size); return n < 0 ? n : REAL(pwrite64)(fd, data, (size_t)n, at); }
int fsync(int fd) { return fail_fd(OP_SYNC, HIT_SYNC, fd) ? refuse() : REAL(fsync)(fd); }
int fdatasync(int fd) { return fail_fd(OP_SYNC, HIT_SYNC, fd) ? refuse() : REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t size) { return fail_fd(OP_TRUNCATE, HIT_TRUNCATE, fd) ? refuse() : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fail_fd(OP_TRUNCATE, HIT_TRUNCATE, fd) ? refuse() : REAL(ftruncate64)(fd, size); }
int unlink(const char *path) { return fail_path(OP_NAME, HIT_NAME, path) ? refuse() : REAL(unlink)(path); }
int rename(const char *path, const char *to) { return fail_path(OP_NAME, HIT_NAME, to) ? refuse() : REAL(rename)(path, to); }
int mkdir(const char *path, mode_t mode) { return fail_path(OP_NAME, HIT_NAME, path) ? refuse() : REAL(mkdir)(path, mode); }

static int64_t shift(clockid_t clock) {
    int64_t by = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? atomic_load(&control->real_ns)
               : clock == CLOCK_BOOTTIME ? atomic_load(&control->boot_ns) : 0;
    if (by) atomic_fetch_add_explicit(&control->hits[HIT_CLOCK], 1, memory_order_relaxed);
    return by;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = REAL(clock_gettime)(clock, now);
    int64_t by = shift(clock);
    if (result == 0 && by) {
        int64_t at = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + by;
        now->tv_sec = at / 1000000000;
        now->tv_nsec = at % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = REAL(gettimeofday)(now, zone);
    int64_t by = shift(CLOCK_REALTIME);
    if (result == 0 && by) {
        int64_t at = (int64_t)now->tv_sec * 1000000 + now->tv_usec + by / 1000;
        now->tv_sec = at / 1000000;
        now->tv_usec = at % 1000000;
    }
    return result;
}

time_t time(time_t *at) {
    time_t now = REAL(time)(NULL) + shift(CLOCK_REALTIME) / 1000000000;
    if (at) *at = now;
    return now;
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*run)(void *), void *restrict value) {
    if (atomic_load(&control->no_threads)) {
        atomic_fetch_add(&control->hits[HIT_THREAD], 1);
        return EAGAIN;
    }
    return REAL(pthread_create)(thread, attributes, run, value);
}

int socket(int domain, int type, int protocol) { return no_files(NO_SOCKET) ? -1 : REAL(socket)(domain, type, protocol); }
int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict size) { return no_files(NO_ACCEPT) ? -1 : REAL(accept)(fd, from, size); }
int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict size, int flags) { return no_files(NO_ACCEPT) ? -1 : REAL(accept4)(fd, from, size, flags); }
