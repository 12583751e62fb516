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

/// A fast generator of the bytes of forged datagrams, by SplitMix64. The numbers need not be secret.
struct GarbageGenerator: RandomNumberGenerator {
    private var state: UInt64

    init() { state = SystemRandomNumberGenerator().nextSeed() }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Returns `count` random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            let word = next()
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    mutating func index() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}

extension SystemRandomNumberGenerator {
    fileprivate func nextSeed() -> UInt64 {
        var generator = self
        return generator.next()
    }
}
