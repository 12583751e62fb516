import Foundation
import Glibc
import ProcessSupport
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
        let started = try StartedProcess(command, readsErrors: false, leadsGroup: false)
        processID = started.processID
        input = Mutex(started.input)
        Thread.detachNewThread { [self] in read(started.output, line) }
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
            ending.withLock { ending in
                switch StartedProcess.Ending(status: status) {
                case .exited(let status): ending = status
                case .signalled(let signal): ending = 128 + signal
                }
            }
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
}
