import Glibc

/// Returns the seconds of the monotonic clock, which all processes and namespaces of a machine share.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Sleeps in real time.
func rest(_ seconds: Double) {
    guard seconds > 0 else { return }
    usleep(UInt32(min(seconds, 10) * 1e6))
}
