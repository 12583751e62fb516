import Glibc
import InklingWeb
import InklingWire

/// A response of the server.
struct Response: Equatable {
    var status: Int
    /// The headers by name, in the order of the names.
    var headers: [String]
    var body: String
}

/// A frame of a WebSocket.
struct Frame: Equatable {
    var opcode: UInt8
    var isLast = true
    var bytes: [UInt8]

    static let (continuation, text, binary, close, ping, pong): (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) =
        (0, 1, 2, 8, 9, 10)

    var string: String { String(decoding: bytes, as: UTF8.self) }
    /// The code of a close.
    var code: Int? { opcode == Self.close && bytes.count >= 2 ? Int(bytes[0]) << 8 | Int(bytes[1]) : nil }
}

/// A browser's side of a connection, byte by byte.
final class WebClient {
    let stream: RawStream
    let address: WebAddress

    /// Connects to the server.
    ///
    /// - Parameter receiveBuffer: The size of the socket's buffer; nil for the usual one.
    init(_ address: WebAddress, receiveBuffer: Int32? = nil) throws {
        stream = RawStream(try Self.connect(to: address, receiveBuffer: receiveBuffer))
        self.address = address
    }

    init(_ stream: RawStream, _ address: WebAddress) {
        self.stream = stream
        self.address = address
    }

    struct ConnectError: Error {
        let code: Int32
    }

    static func connect(to address: WebAddress, receiveBuffer: Int32? = nil) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = address.end.port.bigEndian
        name.sin_addr.s_addr = address.end.address.bigEndian
        let status = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            let code = errno
            close(descriptor)
            throw ConnectError(code: code)
        }
        return descriptor
    }

    // MARK: HTTP

    func get(_ path: String) -> Response? {
        stream.write("GET \(path) HTTP/1.1\r\nHost: \(address.host)\r\n\r\n")
        return response()
    }

    func response() -> Response? {
        guard let head = stream.bytes(until: "\r\n\r\n") else { return nil }
        var lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
        let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        let size = lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) }
        let body = stream.exactly(size ?? 0) ?? []
        return Response(status: status, headers: lines.sorted(), body: String(decoding: body, as: UTF8.self))
    }

    /// The request for the WebSocket.
    func upgradeRequest(origin: String? = nil, version: Int = 13) -> String {
        "GET /socket HTTP/1.1\r\nHost: \(address.host)\r\nOrigin: \(origin ?? address.origin)\r\n"
            + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: \(version)\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    }

    /// Opens the WebSocket. Returns whether the server agrees.
    @discardableResult
    func upgrade() -> Bool {
        stream.write(upgradeRequest())
        return response()?.status == 101
    }

    // MARK: Frames

    static func bytes(of frame: Frame, isMasked: Bool = true, reserved: UInt8 = 0) -> [UInt8] {
        var bytes = [(frame.isLast ? 0x80 : 0) | reserved | frame.opcode]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch frame.bytes.count {
        case ..<126: bytes.append(mask | UInt8(frame.bytes.count))
        case ..<65_536: bytes += [mask | 126, UInt8(frame.bytes.count >> 8), UInt8(frame.bytes.count & 0xFF)]
        default:
            bytes.append(mask | 127)
            bytes += stride(from: 56, through: 0, by: -8).map { UInt8(frame.bytes.count >> $0 & 0xFF) }
        }
        guard isMasked else { return bytes + frame.bytes }
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        return bytes + key + frame.bytes.enumerated().map { $1 ^ key[$0 % 4] }
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Frame(opcode: Frame.text, bytes: Array(text.utf8))) }

    @discardableResult
    func send(_ frame: Frame) -> Bool { stream.write(Self.bytes(of: frame)) }

    /// Returns the next frame; nil at the end, or if none comes.
    func frame() -> Frame? {
        guard let start = stream.exactly(2), start[1] & 0x80 == 0 else { return nil }
        var size = Int(start[1])
        if size >= 126 {
            guard let more = stream.exactly(size == 126 ? 2 : 8) else { return nil }
            size = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard start[0] & 0x70 == 0, let bytes = stream.exactly(size) else { return nil }
        return Frame(opcode: start[0] & 0x0F, isLast: start[0] & 0x80 != 0, bytes: bytes)
    }

    /// Returns the next text; nil if another frame comes.
    func text() -> String? { frame().flatMap { $0.opcode == Frame.text && $0.isLast ? $0.string : nil } }

    /// Returns the code of the close that comes next.
    func closeCode() -> Int? { frame()?.code }

    // MARK: The handshake

    static let nonce = [UInt8](repeating: 7, count: 32)

    static func hello(_ kind: String, _ key: [UInt8], nonce: [UInt8] = nonce) -> String {
        let hash = SHA256.hash(Array("inkling web id".utf8) + key).prefix(8)
        let id = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return #"{"web":1,"key":"\#(kind)","id":"\#(id)","nonce":"\#(TextEncoding.base64url.encode(nonce))"}"#
    }

    /// Sends the first message, checks the server's proof, and returns the page's proof.
    func proof(_ kind: String, _ key: [UInt8]) -> String? {
        send(Self.hello(kind, key))
        guard let answer = text(), answer.hasPrefix(#"{"web":1,"nonce":""#),
            let server = Self.bytes("nonce", of: answer), let proof = Self.bytes("proof", of: answer)
        else { return nil }
        let hmac = HMACKey(key)
        guard hmac.code(Array("inkling web server\0".utf8) + Self.nonce + server) == proof else { return nil }
        return TextEncoding.base64url.encode(hmac.code(Array("inkling web page\0".utf8) + server + Self.nonce))
    }

    /// Opens a page.
    ///
    /// - Returns: The server's last message of the handshake; nil if the server closes the connection.
    func open(_ kind: String, _ key: [UInt8]) -> String? {
        guard upgrade(), let proof = proof(kind, key) else { return nil }
        send(#"{"proof":"\#(proof)"}"#)
        return text()
    }

    /// Returns 32 bytes of a member.
    static func bytes(_ member: String, of line: String) -> [UInt8]? {
        guard let start = line.range(of: "\"\(member)\":\"")?.upperBound else { return nil }
        return try? TextEncoding.base64url.decode(line[start...].prefix { $0 != "\"" }.utf8, count: 32)
    }
}

extension String {
    /// Returns the key in the address of a page.
    var ticket: [UInt8]? {
        split(separator: "=").last.flatMap { try? TextEncoding.base64url.decode($0.utf8, count: 32) }
    }

    func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.range(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

extension StringProtocol {
    /// Returns the range of the first occurrence of a text.
    func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
