#include <spawn.h>
#include <sys/prctl.h>
#include <sys/timex.h>

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
