import ArgumentParser
import Glibc
import InklingControl
import InklingModel
import InklingText

/// A file descriptor for text. Each line is written at once with write(2).
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32

    /// Writes all bytes, and waits if the reader is slow. Returns `false` if the output is closed.
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

    /// Writes a command's answer, and throws after a failure.
    func answer(_ line: String) throws {
        guard !write(line: line) else { return }
        throw Self.failure(errno)
    }

    /// Returns the error that ends a command with this system code for a failed write.
    static func failure(_ code: Int32) -> any Error {
        // A reader that has enough closes the pipe on purpose, so there is no error text.
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

    /// Warns about the limits of an open chat (S-4).
    func warn(ofOpen chat: Chat) {
        write(
            line: "inkling: \(SafeText.line(chat.name)) is an open chat: anybody on this network can join and read it")
    }

    /// Writes a line only if the write does not block.
    func offer(line: String) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&wanted, 1, 0) > 0, wanted.revents & Int16(POLLOUT) != 0 else { return }
        // A writable pipe accepts this many bytes without a wait.
        write(Array((shown(line) + "\n").utf8.prefix(Int(PIPE_BUF))))
    }

    private func shown(_ line: String) -> String {
        isatty(descriptor) == 1 ? WordWrap.text(line, columns: Terminal.size(descriptor).columns) : line
    }

    /// Writes a line with one write(2), unless the system splits the bytes. On a terminal, the line breaks between
    /// words.
    @discardableResult
    func write(line: String) -> Bool {
        write(Array((shown(line) + "\n").utf8))
    }
}
