import Glibc
import InklingCore
import InklingWire
import Synchronization

/// A command for discovery's thread.
enum DiscoveryCommand: Sendable {
    case join(ChatKeys, port: UInt16, first: Advertisement, renewal: @Sendable () -> Advertisement)
    case browse(ChatKeys)
    case leave(ChatID)
    case lookAtInterfaces
    case stop
}

/// The commands that wait for discovery's thread, and the pipe that wakes it.
final class DiscoveryMailbox: Sendable {
    private let commands = Mutex<[DiscoveryCommand]>([])
    /// The descriptor that is readable when commands wait.
    let readable: Int32
    private let writable: Int32

    /// Makes a mailbox; nil if the system refuses a pipe.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        readable = ends[0]
        writable = ends[1]
    }

    deinit {
        close(readable)
        close(writable)
    }

    func post(_ command: DiscoveryCommand) {
        let isFirst = commands.withLock { commands in
            commands.append(command)
            return commands.count == 1
        }
        guard isFirst else { return }
        // A full pipe wakes the thread as well.
        var byte: UInt8 = 0
        _ = write(writable, &byte, 1)
    }

    /// Returns the commands posted since the last call.
    func take() -> [DiscoveryCommand] {
        // Empties the pipe first, so that a command posted from here on wakes the thread again.
        var bytes: [UInt8] = Array(repeating: 0, count: 64)
        while read(readable, &bytes, bytes.count) == bytes.count {}
        return commands.withLock { commands in
            defer { commands = [] }
            return commands
        }
    }
}
