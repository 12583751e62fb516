import Foundation
import Glibc
import Synchronization

/// A process with its input and output on pipes. Its errors go to this program's standard error.
final class Child: Sendable {
    let processID: pid_t
    private let input: Mutex<Int32>
    private let ending = Mutex<Int32?>(nil)
    /// The number of lines that the reader takes in a second; nil for no limit.
    private let pace = Mutex<Int?>(nil)

    /// Starts a program, which `PATH` must contain.
    ///
    /// - Parameter line: receives each line of output on another thread, with the time of the read.
    init(_ command: [String], line: @escaping @Sendable (_ text: [UInt8], _ arrival: Double) -> Void = { _, _ in })
        throws
    {
        let (input, output) = (try Child.pipe(), try Child.pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
        let arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let status = posix_spawnp(&process, command[0], &actions, nil, arguments, environ)
        close(input.read)
        close(output.write)
        guard status == 0 else {
            close(input.write)
            close(output.read)
            throw AttackError("can't start \(command[0]): \(String(cString: strerror(status)))")
        }
        processID = process
        self.input = Mutex(input.write)
        let descriptor = output.read
        Thread.detachNewThread { [self] in read(descriptor, line) }
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
            ending.withLock { $0 = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F }
        }
    }

    /// The exit status, or 128 and the number of the signal that ended the process; nil while it runs.
    var status: Int32? { ending.withLock { $0 } }

    /// Writes a line to the input of the process. A line for an ended process is lost.
    func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        input.withLock { descriptor in
            guard descriptor >= 0 else { return }
            _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        }
    }

    func closeInput() {
        input.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    /// Limits the lines that the reader takes in a second; nil for no limit.
    func readOutput(linesPerSecond: Int?) { pace.withLock { $0 = linesPerSecond } }

    /// Kills the process, if it still runs.
    func end() {
        closeInput()
        ending.withLock { status in
            if status == nil { _ = kill(processID, SIGKILL) }
        }
    }

    /// Waits for the exit status. Returns nil if the process still runs after that time.
    func waitForEnd(seconds: Double) -> Int32? {
        let deadline = monotonicSeconds() + seconds
        while status == nil, monotonicSeconds() < deadline { rest(0.002) }
        return status
    }

    private func read(_ descriptor: Int32, _ line: (_ text: [UInt8], _ arrival: Double) -> Void) {
        var pending: [UInt8] = []
        // The buffer is small. Output that a slow reader has not read stays in the pipe.
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            let arrival = monotonicSeconds()
            var start = 0
            while let end = buffer[start..<count].firstIndex(of: 0x0A) {
                line(pending + buffer[start..<end], arrival)
                pending = []
                start = end + 1
                if let pace = pace.withLock({ $0 }) { rest(1 / Double(pace)) }
            }
            pending += buffer[start..<count]
        }
        close(descriptor)
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw AttackError.system("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
