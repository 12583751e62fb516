import Glibc

/// A connected socket that blocks, and reads only when a test calls for it.
final class RawStream: Sendable {
    let descriptor: Int32

    /// The longest wait of each call, in milliseconds.
    static let patience: Int32 = 10_000

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, 0)
        var time = timeval(tv_sec: Int(Self.patience) / 1_000, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Writes all bytes. Returns whether the other end took them.
    @discardableResult
    func write(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Writes until the other end takes no more for a moment. Returns the number of bytes written.
    func writeUntilFull(_ bytes: [UInt8], most: Int) -> Int {
        var written = 0
        while written < most {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, 500) > 0 else { break }
            let start = written % bytes.count
            let count = bytes[start...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            guard count > 0 else { break }
            written += count
        }
        return written
    }

    /// Returns some bytes; nil at the end, or if none come.
    func some(_ most: Int = 65_536, within milliseconds: Int32 = patience) -> [UInt8]? {
        var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&readable, 1, milliseconds) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: most)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    /// Returns exactly so many bytes; nil if fewer come.
    func exactly(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = some(count - bytes.count) else { return nil }
            bytes += more
        }
        return bytes
    }

    /// Returns the bytes up to an ending; nil if it does not come.
    func bytes(until ending: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        while !bytes.suffix(ending.utf8.count).elementsEqual(ending.utf8) {
            guard let more = some(1) else { return nil }
            bytes += more
        }
        return bytes
    }

    /// Returns the next line without its line feed.
    func line() -> String? { bytes(until: "\n").map { String(decoding: $0.dropLast(), as: UTF8.self) } }

    /// Whether the other end closes the connection without any further byte.
    var isClosedSilently: Bool {
        var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&readable, 1, Self.patience) > 0 else { return false }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) <= 0
    }

    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    deinit { Glibc.close(descriptor) }
}
