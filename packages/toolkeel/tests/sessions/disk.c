/* What a program writes to files below DISK_FOLDER, and when it has them synced, in one order.

   Preloaded; each record in the file DISK_LOG is a line, and behind a write what was written:
   w PATH OFFSET LENGTH, t PATH SIZE, s PATH, u PATH, r PATH NEW_PATH, m PATH. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int out = -1;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("DISK_FOLDER");
    if (folder) out = open(getenv("DISK_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
    return out >= 0 && strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = out < 0 ? -1 : readlink(link, path, PATH_MAX - 1);
    path[size < 0 ? 0 : size] = 0;
    return is_ours(path);
}

static void note(char kind, const char *path, const char *rest, const void *data, size_t size) {
    char line[3 * PATH_MAX];
    int length = snprintf(line, sizeof line, "%c\t%s\t%s\n", kind, path, rest);
    struct iovec parts[] = {{line, (size_t)length}, {(void *)data, size}};
    if (syscall(SYS_writev, out, parts, size ? 2 : 1) < 0) abort();
}

static ssize_t written(int file, const void *data, size_t size, off_t place, int moves) {
    char path[PATH_MAX], rest[64];
    if (!path_of(file, path))
        return moves ? syscall(SYS_write, file, data, size) : syscall(SYS_pwrite64, file, data, size, place);
    pthread_mutex_lock(&lock);
    if (moves) place = fcntl(file, F_GETFL) & O_APPEND ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR);
    ssize_t done = moves ? syscall(SYS_write, file, data, size) : syscall(SYS_pwrite64, file, data, size, place);
    if (done > 0) {
        snprintf(rest, sizeof rest, "%lld\t%zd", (long long)place, done);
        note('w', path, rest, data, (size_t)done);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int file, const void *data, size_t size) { return written(file, data, size, 0, 1); }
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { return written(file, data, size, place, 0); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) { return written(file, data, size, place, 0); }

static int synced(int file, long call) {
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(call, file);
    if (!failed && path_of(file, path)) note('s', path, "", NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

static int cut(int file, off_t size) {
    char path[PATH_MAX], rest[64];
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_ftruncate, file, size);
    snprintf(rest, sizeof rest, "%lld", (long long)size);
    if (!failed && path_of(file, path)) note('t', path, rest, NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int ftruncate(int file, off_t size) { return cut(file, size); }
int ftruncate64(int file, off64_t size) { return cut(file, size); }

int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (!failed && is_ours(path)) note('u', path, "", NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (!failed && is_ours(to)) note('r', from, to, NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&lock);
    int failed = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (!failed && is_ours(path)) note('m', path, "", NULL, 0);
    pthread_mutex_unlock(&lock);
    return failed;
}
