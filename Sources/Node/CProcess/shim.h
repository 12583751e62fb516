#include <linux/filter.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <sys/vfs.h>

// In glibc 2.34 and later; <spawn.h> hides it from Swift.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);

// Swift can't call prctl itself, as its arguments are variadic.

/// Forbids core dumps of this process, and that other processes of its user read its memory.
static inline int cprocess_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/// Names the calling thread, with at most 15 bytes.
static inline int cprocess_name_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Returns the maximum error of the time of day in microseconds, as the kernel reports it; -1 if it reports none. Swift's
/// module of glibc lacks <sys/timex.h>.
static inline long cprocess_clock_error(void) {
    struct timex report = {.modes = 0};
    return adjtimex(&report) < 0 ? -1 : report.maxerror;
}

/// Returns the filter with which the kernel drops the datagrams without content of a UDP socket. It sees a datagram from the
/// UDP header of 8 bytes on. (With <sys/socket.h> in this header, Swift's module of glibc lacks the types of sockets.)
static inline struct sock_fprog cprocess_content_filter(void) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 8, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    return (struct sock_fprog){.len = 4, .filter = code};
}

// In glibc; <malloc.h> is not in Swift's module of it.
int malloc_trim(size_t padding);

/// Lets the kernel take the pages of this program's code from the process. Code that runs again comes back by itself, from
/// the kernel's cache of the file. Returns 0 on success.
static inline int cprocess_release_code(void) {
    extern const char __executable_start, etext;
    const unsigned long page = 4096;
    unsigned long start = ((unsigned long)&__executable_start + page - 1) & ~(page - 1);
    unsigned long end = (unsigned long)&etext & ~(page - 1);
    return madvise((void *)start, end - start, MADV_DONTNEED);
}

/// Returns the kind of the file system of a path, as a number of statfs(2); 0 after a failure.
static inline unsigned int cprocess_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (unsigned int)status.f_type : 0;
}
