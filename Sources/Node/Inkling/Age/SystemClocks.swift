import CProcess
import Glibc
import InklingModel

extension AgeCounter.Reading {
    /// The maximum error at which the kernel no longer counts its clock as synchronised, in microseconds. Setting the
    /// clock by hand sets the error to this value.
    private static let unsynchronised = 16_000_000

    private static let currentBoot: String = {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = file < 0 ? 0 : read(file, &bytes, bytes.count)
        if file >= 0 { close(file) }
        // Without a name, each run counts as a new start of the machine, which can only lengthen a wait.
        guard count == bytes.count else { return "unknown-\(UInt64.random(in: 0 ... .max))" }
        return String(decoding: bytes, as: UTF8.self)
    }()

    /// Reads the clocks of this machine.
    package static func current() -> Self {
        var running = timespec()
        clock_gettime(CLOCK_BOOTTIME, &running)
        return Self(
            boot: currentBoot,
            sinceBoot: .seconds(running.tv_sec) + .nanoseconds(running.tv_nsec), timeOfDay: Node.wallClock(),
            isSynchronised: (0..<unsynchronised).contains(cprocess_clock_error()))
    }
}
