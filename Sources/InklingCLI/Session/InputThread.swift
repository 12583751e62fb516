import Foundation

/// Reads standard input on a thread of its own, a few chunks ahead of who uses them.
final class InputThread: Sendable {
    private static let chunk = 65_536
    private static let chunksAhead = 8
    // Freed below the value that it began with, which chunks that nobody gave back would leave, it traps.
    private let ahead = DispatchSemaphore(value: 0)

    init(_ queue: SessionEventQueue) {
        for _ in 0..<Self.chunksAhead { ahead.signal() }
        let ahead = self.ahead
        Thread.detachNewThread {
            while let bytes = Self.read() {
                ahead.wait()
                queue.add(.input(bytes))
            }
            queue.add(.endOfInput)
        }
    }

    /// A chunk was dealt with; one more may be read.
    func proceed() {
        ahead.signal()
    }

    /// The next bytes; `nil` at the end, which a terminal that is gone is too.
    private static func read() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, initialized in
                count = Foundation.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count > 0 { return bytes }
            // In the background the terminal is not ours to read from: that is not the end of input.
            if count < 0, errno == EIO, Terminal.isOthers {
                usleep(100_000)
                continue
            }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return nil }
            if errno == EAGAIN {
                var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                poll(&wanted, 1, -1)
            }
        }
    }
}
