import Foundation
import Glibc
import ProcessSupport

/// A clock for programs that differs from this machine's. A small preloaded library adds an offset to the system's
/// times. So the time of day can jump, and the machine can seem to sleep. The library can also hide the kernel's
/// notices of network changes from a program.
final class TestClock: Sendable {
    private let kept: TemporaryFolder
    private var folder: String { kept.path }

    init() async throws {
        kept = try TemporaryFolder("inkling-clock")
        try Data(TestClock.source.utf8).write(to: URL(fileURLWithPath: folder + "/clock.c"))
        try Data(count: 16).write(to: URL(fileURLWithPath: folder + "/shift"))
        try await run(["clang", "-shared", "-fPIC", "-O1", "-o", folder + "/clock.so", folder + "/clock.c"])
        // The ordinary user of the tests runs the programs.
        let modes: [(String, mode_t)] = [("", 0o711), ("/clock.so", 0o755), ("/shift", 0o644)]
        for (name, mode) in modes { chmod(folder + name, mode) }
    }

    /// The environment of a program that runs under this clock.
    var environment: [String: String] { ["LD_PRELOAD": folder + "/clock.so", "TEST_CLOCK_SHIFT": folder + "/shift"] }

    /// The environment of a program without notices of network changes.
    var withoutNetlink: [String: String] { environment.merging(["TEST_CLOCK_NO_NETLINK": "1"]) { $1 } }

    /// Shifts the time of day.
    func shiftTimeOfDay(by seconds: Int64) throws { try write(seconds, at: 0) }

    /// Moves the clock that counts suspend ahead, as after a sleep of the machine.
    func sleepMachine(for seconds: Int64) throws { try write(seconds, at: 8) }

    private func write(_ seconds: Int64, at offset: off_t) throws {
        let descriptor = open(folder + "/shift", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let count = withUnsafeBytes(of: seconds) { pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        guard count == 8 else { throw HarnessError("the clock can't be set") }
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static const volatile int64_t *shift;

        __attribute__((constructor)) static void prepare(void) {
            const char *path = getenv("TEST_CLOCK_SHIFT");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *memory = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
            close(file);
            if (memory != MAP_FAILED) shift = memory;
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            long result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && shift) {
                if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec += shift[0];
                if (clock == CLOCK_BOOTTIME) time->tv_sec += shift[1];
            }
            return result == 0 ? 0 : -1;
        }

        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }

        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }

        int bind(int descriptor, const struct sockaddr *name, socklen_t length) {
            if (name->sa_family == AF_NETLINK && getenv("TEST_CLOCK_NO_NETLINK")) {
                errno = EPERM;
                return -1;
            }
            return syscall(SYS_bind, descriptor, name, length);
        }
        """
}
