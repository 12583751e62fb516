import Foundation
import Glibc
import ProcessSupport
import Synchronization

/// A failure of the harness itself, or a missed deadline.
struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Returns the seconds since 1970, from the clock that all processes of this machine share.
func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Sleeps in real time. Only code that runs real processes may call this.
func pause(_ seconds: Double) async throws {
    try await ContinuousClock().sleep(for: .seconds(seconds))
}

/// A line of a child's output, with its time of arrival.
struct OutputLine: Sendable {
    let arrival: Double
    let text: String
}

/// A process with its standard streams on pipes. The process leads its own process group, so an interrupt at the
/// terminal ends only the test run. Then the input of the process ends, and with it the process.
final class Child: Sendable {
    typealias Ending = StartedProcess.Ending

    let processID: pid_t
    private let input: Mutex<Int32>
    private let lines = Mutex<[OutputLine]>([])
    private let complaints = Mutex<[String]>([])
    private let end = Mutex<Ending?>(nil)
    /// The number of streams that are still open, of output and errors.
    private let openStreams = Mutex(2)

    /// Starts a program from ``User/searchPath``, unless it has its path, with that user's home.
    init(_ command: [String], environment: [String: String] = [:]) throws {
        var variables = ProcessInfo.processInfo.environment
        (variables["HOME"], variables["PATH"]) = (User.home, User.searchPath)
        variables.merge(environment) { $1 }
        let started = try StartedProcess(command, environment: variables.map { "\($0)=\($1)" })
        processID = started.processID
        input = Mutex(started.input)
        Thread.detachNewThread { [self] in
            Child.read(started.output) { line in lines.withLock { $0.append(line) } }
            openStreams.withLock { $0 -= 1 }
        }
        Thread.detachNewThread { [self] in
            Child.read(started.errors ?? -1) { line in complaints.withLock { $0.append(line.text) } }
            openStreams.withLock { $0 -= 1 }
        }
        Thread.detachNewThread { [self] in awaitEnd() }
    }

    var output: [OutputLine] { lines.withLock { $0 } }
    var outputCount: Int { lines.withLock { $0.count } }
    func output(from index: Int) -> ArraySlice<OutputLine> { lines.withLock { $0[min(index, $0.count)...] } }
    var errorText: String { complaints.withLock { $0.joined(separator: "\n") } }
    var ending: Ending? { end.withLock { $0 } }

    /// Writes a line to the child's standard input. A line for an ended child is lost.
    func write(_ line: String, end: String = "\n") {
        let bytes = Array((line + end).utf8)
        input.withLock { descriptor in
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                written += count
            }
        }
    }

    func closeInput() {
        input.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    /// Signals the process, if it still runs.
    func signal(_ number: Int32) {
        end.withLock { ending in
            if ending == nil { kill(processID, number) }
        }
    }

    func waitForEnd(within seconds: Double = 5) async throws -> Ending {
        let deadline = now() + seconds
        while true {
            if let ending { return ending }
            if now() > deadline { throw HarnessError("process \(processID) still runs after \(seconds) s") }
            try await pause(0.002)
        }
    }

    /// Waits like ``waitForEnd(within:)``, and then for the rest of the output. A process left behind may hold the
    /// streams open, so this wait is short.
    func waitForEndAndOutput(within seconds: Double = 5) async throws -> Ending {
        let ending = try await waitForEnd(within: seconds)
        let deadline = now() + 2
        while openStreams.withLock({ $0 }) > 0 && now() < deadline { try await pause(0.001) }
        return ending
    }

    deinit { closeInput() }

    // MARK: - Threads

    private static func read(_ descriptor: Int32, line: (OutputLine) -> Void) {
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            let arrival = now()
            pending += buffer[..<count]
            while let end = pending.firstIndex(of: 0x0a) {
                line(OutputLine(arrival: arrival, text: String(decoding: pending[..<end], as: UTF8.self)))
                pending.removeSubrange(...end)
            }
        }
        if !pending.isEmpty { line(OutputLine(arrival: now(), text: String(decoding: pending, as: UTF8.self))) }
        close(descriptor)
    }

    private func awaitEnd() {
        // The child stays a zombie until the ending is recorded, so that `signal` never reaches another process with
        // the same number.
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        end.withLock { ending in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
            ending = Ending(status: status)
        }
    }
}

/// Runs a command to its end, and expects success.
@discardableResult
func run(_ command: [String], within seconds: Double = 20) async throws -> String {
    let child = try Child(command)
    child.closeInput()
    let ending = try await child.waitForEndAndOutput(within: seconds)
    guard ending == .exited(0) else {
        throw HarnessError("\(command.joined(separator: " ")): \(ending): \(child.errorText)")
    }
    return child.output.map(\.text).joined(separator: "\n")
}
