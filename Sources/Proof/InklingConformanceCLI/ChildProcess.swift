import FoundationEssentials
import Glibc
import InklingConformance
import ProcessSupport

/// A program under test with pipes for its standard streams; nothing here waits for it.
final class ChildProcess {
    private let id: ProgramID
    private let process: pid_t
    private var input: Int32
    private var output: Int32
    private var diagnostics: Int32
    /// Written to the program, and not taken by it yet.
    private var pending: [UInt8] = []
    private var closesWhenWritten = false
    private var outputLine: [UInt8] = []
    private var diagnosticLine: [UInt8] = []
    private var hasExited = false

    init(_ command: [String], id: ProgramID) throws(StageError) {
        self.id = id
        do {
            let started = try StartedProcess(command)
            (process, input, output, diagnostics) = (
                started.processID, started.input, started.output, started.errors ?? -1
            )
        } catch {
            throw StageError(error.description)
        }
        for descriptor in [input, output, diagnostics] {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
    }

    // MARK: Input

    func write(_ bytes: [UInt8]) {
        guard input >= 0 else { return }
        pending += bytes
        flush()
    }

    func closeInput() {
        closesWhenWritten = true
        flush()
    }

    func signal(_ number: Int32) {
        guard !hasExited else { return }
        kill(process, number)
    }

    private func flush() {
        while input >= 0, !pending.isEmpty {
            let count = Glibc.write(input, pending, pending.count)
            if count > 0 {
                pending.removeFirst(count)
            } else if errno != EINTR {
                if errno != EAGAIN { closeNow() }
                return
            }
        }
        if closesWhenWritten { closeNow() }
    }

    private func closeNow() {
        if input >= 0 { close(input) }
        (input, pending) = (-1, [])
    }

    /// Ends it, and waits for that.
    func end() {
        closeNow()
        if !hasExited {
            kill(process, SIGKILL)
            kill(process, SIGCONT)
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            hasExited = true
        }
        for descriptor in [output, diagnostics] where descriptor >= 0 { close(descriptor) }
    }

    // MARK: Output

    var descriptors: [pollfd] {
        var entries: [pollfd] = []
        for descriptor in [output, diagnostics] where descriptor >= 0 {
            entries.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        }
        if input >= 0, !pending.isEmpty { entries.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
        return entries
    }

    /// All that it has written, and that it has ended.
    func collect(at: Duration) -> [StageEvent] {
        flush()
        var events: [StageEvent] = []
        for line in read(&output, &outputLine) {
            let value = try? JSONDecoder().decode(JSONValue.self, from: Data(line))
            events.append(.line(bytes: line, value: value, program: id, at: at))
        }
        for line in read(&diagnostics, &diagnosticLine) {
            events.append(.diagnostic(String(decoding: line, as: UTF8.self), program: id, at: at))
        }
        // The exit comes after all output of the process.
        guard !hasExited, output < 0 else { return events }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return events }
        hasExited = true
        switch StartedProcess.Ending(status: status) {
        case .exited(let status): events.append(.exited(.exited(Int(status)), program: id, at: at))
        case .signalled(let signal): events.append(.exited(.signalled(Int(signal)), program: id, at: at))
        }
        return events
    }

    private func read(_ descriptor: inout Int32, _ line: inout [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while descriptor >= 0 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                for byte in buffer[0..<count] {
                    if byte == 0x0A {
                        lines.append(line)
                        line = []
                    } else if line.count < 4 << 20 {
                        line.append(byte)
                    }
                }
            } else if count == 0 {
                close(descriptor)
                descriptor = -1
            } else if errno != EINTR {
                break
            }
        }
        return lines
    }
}
