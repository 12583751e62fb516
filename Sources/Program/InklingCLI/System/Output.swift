import ArgumentParser
import Glibc
import InklingControl
import InklingModel
import InklingText

/// A file descriptor that text goes to by write(2), so that each line is out at once.
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32

    /// Writes everything, waiting where it must. `false`: nobody reads any more.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Writes a line that a command was run for. Where that is not possible the command has failed.
    func answer(_ line: String) throws {
        guard !write(line: line) else { return }
        throw Self.failure(errno)
    }

    /// What a command ends with whose output can't be written, by the system's code for why.
    static func failure(_ code: Int32) -> any Error {
        // A reader that has read enough went away on purpose: this is not an error.
        if code == EPIPE { return ExitCode(1) }
        return CommandFailure(text: failureText(code))
    }

    static func failureText(_ code: Int32) -> String {
        "the output can't be written (\(String(cString: strerror(code))))"
    }

    func answer(json members: [(String, JSONValue)]) throws {
        guard !write(Array((JSONValue.object(members).text + "\n").utf8)) else { return }
        throw Self.failure(errno)
    }

    /// Says what an open chat does not give (S-4).
    func warn(ofOpen chat: Chat) {
        write(
            line: "inkling: \(SafeText.line(chat.name)) is an open chat: anybody on this network can join and read it")
    }

    /// Writes a line if that needs no waiting.
    func offer(line: String) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&wanted, 1, 0) > 0, wanted.revents & Int16(POLLOUT) != 0 else { return }
        // A pipe that is writable takes this many bytes without waiting.
        write(Array((shown(line) + "\n").utf8.prefix(Int(PIPE_BUF))))
    }

    private func shown(_ line: String) -> String {
        isatty(descriptor) == 1 ? WordWrap.text(line, columns: Terminal.size(descriptor).columns) : line
    }

    /// Writes a line, with one write(2) unless the system takes it in parts. A terminal gets it broken between words.
    @discardableResult
    func write(line: String) -> Bool {
        write(Array((shown(line) + "\n").utf8))
    }
}
