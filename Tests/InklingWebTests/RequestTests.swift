import Glibc
import Inkling
import InklingWeb
import NIOCore
import ProcessSupport
import Testing

/// A request that the server refuses.
struct RefusedRequest: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var status: Int
    /// The request, with HOST for the server's address.
    var text: String

    init(_ name: String, _ status: Int, _ text: String) {
        testDescription = name
        self.status = status
        self.text = text.replacing("\n", with: "\r\n") + "\r\n\r\n"
    }

    static let socket = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="

    static let all = [
        RefusedRequest("no Host", 421, "GET / HTTP/1.1"),
        RefusedRequest("two Hosts", 421, "GET / HTTP/1.1\nHost: HOST\nHost: HOST"),
        RefusedRequest("another Host", 421, "GET / HTTP/1.1\nHost: localhost"),
        RefusedRequest("a Host without the port", 421, "GET / HTTP/1.1\nHost: 127.0.0.1"),
        RefusedRequest("a list of Hosts", 421, "GET / HTTP/1.1\nHost: HOST, HOST"),
        RefusedRequest("another origin", 403, "GET / HTTP/1.1\nHost: HOST\nOrigin: http://127.0.0.1"),
        RefusedRequest("an origin with https", 403, "GET / HTTP/1.1\nHost: HOST\nOrigin: https://HOST"),
        RefusedRequest("the origin null", 403, "GET / HTTP/1.1\nHost: HOST\nOrigin: null"),
        RefusedRequest("two origins", 403, "GET / HTTP/1.1\nHost: HOST\nOrigin: http://HOST\nOrigin: http://HOST"),
        RefusedRequest("POST", 405, "POST / HTTP/1.1\nHost: HOST"),
        RefusedRequest("POST with a body", 405, "POST / HTTP/1.1\nHost: HOST\nContent-Length: 3\n\nabc"),
        RefusedRequest("HEAD", 405, "HEAD / HTTP/1.1\nHost: HOST"),
        RefusedRequest("OPTIONS", 405, "OPTIONS / HTTP/1.1\nHost: HOST"),
        RefusedRequest("CONNECT", 405, "CONNECT HOST HTTP/1.1\nHost: HOST"),
        RefusedRequest("GET with a body", 400, "GET / HTTP/1.1\nHost: HOST\nContent-Length: 3\n\nabc"),
        RefusedRequest("GET with chunks", 400, "GET / HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked"),
        RefusedRequest("HTTP/1.0", 505, "GET / HTTP/1.0\nHost: HOST"),
        RefusedRequest("no HTTP", 400, "hello"),
        RefusedRequest("another path", 404, "GET /other HTTP/1.1\nHost: HOST"),
        RefusedRequest("a second path of the page", 404, "GET /index.html HTTP/1.1\nHost: HOST"),
        RefusedRequest("a query", 404, "GET /?a HTTP/1.1\nHost: HOST"),
        RefusedRequest("a path upwards", 404, "GET /../main.js HTTP/1.1\nHost: HOST"),
        RefusedRequest("an absolute address", 404, "GET http://HOST/ HTTP/1.1\nHost: HOST"),
        RefusedRequest(
            "the WebSocket without an upgrade", 426, "GET /socket HTTP/1.1\nHost: HOST\nOrigin: http://HOST"),
        RefusedRequest(
            "the WebSocket without an origin", 403,
            "GET /socket HTTP/1.1\nHost: HOST\nSec-WebSocket-Version: 13\n\(socket)"),
        RefusedRequest(
            "the WebSocket of another origin", 403,
            "GET /socket HTTP/1.1\nHost: HOST\nOrigin: http://127.0.0.1\nSec-WebSocket-Version: 13\n\(socket)"),
        RefusedRequest(
            "the WebSocket at another Host", 421,
            "GET /socket HTTP/1.1\nHost: localhost\nOrigin: http://HOST\nSec-WebSocket-Version: 13\n\(socket)"),
        RefusedRequest(
            "a WebSocket of another version", 400,
            "GET /socket HTTP/1.1\nHost: HOST\nOrigin: http://HOST\nSec-WebSocket-Version: 8\n\(socket)"),
        RefusedRequest(
            "a WebSocket at another path", 404,
            "GET /other HTTP/1.1\nHost: HOST\nOrigin: http://HOST\nSec-WebSocket-Version: 13\n\(socket)"),
    ]
}

@Suite("The page's server and requests", .timeLimit(.minutes(2)))
struct RequestTests {
    /// Returns the headers of each response, written once more by hand.
    static func headers(_ address: WebAddress) -> [String] {
        [
            "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                + "connect-src ws://\(address.host); base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'; trusted-types 'none'",
            "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
            "Cross-Origin-Opener-Policy: same-origin", "Cross-Origin-Resource-Policy: same-origin",
            "Cache-Control: no-store", "X-DNS-Prefetch-Control: off",
        ]
    }

    @Test("each file comes with its type and all security headers, and the connection stays")
    func files() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        for (path, type) in [
            ("/", "text/html; charset=utf-8"), ("/main.js", "text/javascript; charset=utf-8"),
            ("/names.js", "text/javascript; charset=utf-8"),
            ("/style.css", "text/css; charset=utf-8"), ("/icon.svg", "image/svg+xml"),
            ("/favicon.ico", "image/svg+xml"),
        ] {
            let response = try #require(client.get(path))
            let own = ["Content-Type: \(type)", "Content-Length: \(response.body.utf8.count)"]
            #expect(response.status == 200 && !response.body.isEmpty)
            #expect(response.headers == (Self.headers(stage.address) + own).sorted())
        }
        #expect(client.get("/")?.body.contains(#"src="/main.js""#) == true)
        try await stage.end()
    }

    @Test("two requests at once get their answers in order")
    func pipelined() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        let request = "GET /icon.svg HTTP/1.1\r\nHost: \(stage.address.host)\r\nOrigin: \(stage.address.origin)\r\n\r\n"
        client.stream.write(request + request.replacing("icon.svg", with: "style.css"))
        #expect(client.response()?.headers.contains("Content-Type: image/svg+xml") == true)
        #expect(client.response()?.headers.contains("Content-Type: text/css; charset=utf-8") == true)
        try await stage.end()
    }

    @Test("a request outside of the rules gets an error with all security headers", arguments: RefusedRequest.all)
    func refused(_ request: RefusedRequest) async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.stream.write(request.text.replacing("HOST", with: stage.address.host))
        let response = try #require(client.response())
        #expect(response.status == request.status)
        let own = response.headers.filter { !Self.headers(stage.address).contains($0) }
            .map { $0.prefix { $0 != ":" }.lowercased() }
        #expect(response.headers.filter(Self.headers(stage.address).contains) == Self.headers(stage.address).sorted())
        let extra = [405: ["allow"], 426: ["upgrade"]][request.status] ?? []
        #expect(own.sorted() == (["connection", "content-length", "content-type"] + extra).sorted())
        #expect(client.stream.isClosedSilently && !stage.daemon.isWanted)
        try await stage.end()
    }

    @Test("a WebSocket's answer has all security headers, and neither compression nor a subprotocol")
    func upgrade() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.stream.write(client.upgradeRequest())
        let response = try #require(client.response())
        #expect(response.status == 101)
        let own = response.headers.filter { !Self.headers(stage.address).contains($0) }.map { $0.lowercased() }
        #expect(
            own == ["connection: upgrade", "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=", "upgrade: websocket"])
        #expect(response.headers.filter(Self.headers(stage.address).contains) == Self.headers(stage.address).sorted())
        try await stage.end()
    }

    @Test("a head of 8 KiB is read, and a longer one refused", arguments: [0, 1])
    func longHead(excess: Int) async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        let start = "GET / HTTP/1.1\r\nHost: \(stage.address.host)\r\nX: "
        let filler = String(repeating: "x", count: WebLimits.head - start.utf8.count - 4 + excess)
        client.stream.write(start + filler + "\r\n\r\n")
        #expect(client.response()?.status == (excess == 0 ? 200 : 431))
        try await stage.end()
    }

    @Test("a head without an end is refused after 8 KiB")
    func endlessHead() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.stream.write("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: WebLimits.head))
        #expect(client.response()?.status == 431)
        #expect(client.stream.isClosedSilently)
        try await stage.end()
    }

    @Test("a connection without a whole head ends, also after an answer", arguments: ["", "GET / HTTP/1.1\r\n"])
    func lateHead(start: String) async throws {
        var limits = WebStage.limits
        limits.patience = .milliseconds(100)
        let stage = try await WebStage(limits)
        let client = try WebClient(stage.address)
        client.stream.write(start)
        #expect(client.stream.isClosedSilently)
        let second = try WebClient(stage.address)
        #expect(second.get("/")?.status == 200)
        second.stream.write(start)
        #expect(second.stream.isClosedSilently)
        try await stage.end()
    }

    @Test("of 33 connections without a proof, the last ends at once, and another one's end makes room")
    func unproved() async throws {
        let stage = try await WebStage()
        let clients = try (0..<WebLimits.unproved).map { _ in try WebClient(stage.address) }
        for client in clients { #expect(client.get("/icon.svg")?.status == 200) }
        let late = try WebClient(stage.address)
        #expect(late.stream.isClosedSilently)
        clients[0].stream.close()
        // The server notices the end in its own time.
        var next: Response?
        for _ in 0..<100 where next == nil {
            next = try WebClient(stage.address).get("/icon.svg")
        }
        #expect(next?.status == 200)
        try await stage.end()
    }

    @Test("32 connections without a proof take no page's place, and no page takes theirs")
    func unprovedBesidePages() async throws {
        let stage = try await WebStage()
        let pages = try await [stage.page(), stage.page()]
        let clients = try (0..<WebLimits.unproved).map { _ in try WebClient(stage.address) }
        for client in clients { #expect(client.get("/icon.svg")?.status == 200) }
        pages[0].page.send(#"{"do":"chats"}"#)
        #expect(pages[0].daemon.line() == #"{"do":"chats"}"#)
        try await stage.end()
    }

    @Test("another user's connection ends without an answer", .enabled(if: geteuid() == 0))
    func otherUserAsRoot() async throws {
        let stage = try await WebStage()
        let address = stage.address
        let other = RawStream(try asOtherUser(65_534) { try WebClient.connect(to: address) })
        #expect(other.isClosedSilently)
        // The thread that accepts connections reports the refusal after the end of the connection.
        try await stage.wait("a report") { [stage] _ in !stage.reports.isEmpty }
        #expect(stage.reports == ["a connection of another user was refused (user ID 65534)"])
        #expect(try WebClient(address).get("/")?.status == 200)
        try await stage.end()
    }

    @Test("the kernel reports the owner of an established connection, and of no other")
    func owner() throws {
        var random = SystemRandomNumberGenerator()
        let listener = try WebListener(port: 0, using: &random)
        defer { close(listener.descriptor) }
        let client = try WebClient(listener.address)
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(client.stream.descriptor, $0, &length)
            }
        }
        let end = ConnectionOwner.End(
            address: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
        let server = listener.address.end
        let owners = ConnectionOwner()
        #expect(owners.user(of: end, to: server) == geteuid())
        #expect(owners.user(of: server, to: end) == nil, "nobody has accepted the connection")
        #expect(owners.user(of: server, to: .init(address: end.address, port: 1)) == nil, "a listening socket")
        #expect(owners.user(of: end, to: .init(address: end.address, port: server.port)) == nil)
        shutdown(client.stream.descriptor, Int32(SHUT_WR))
        #expect(owners.user(of: end, to: server) == nil, "the connection is ending")
    }

    @Test("a server listens at a random address with the wished port, and a port in use is an error")
    func listener() throws {
        var random = SystemRandomNumberGenerator()
        let first = try WebListener(port: 0, using: &random)
        defer { close(first.descriptor) }
        #expect((0x7F00_0100...0x7FFF_FEFF).contains(first.address.end.address) && first.address.end.port != 0)
        let everywhere = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(everywhere) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(everywhere, $0, length) == 0 && listen(everywhere, 1) == 0
                    && getsockname(everywhere, $0, &length) == 0
            }
        }
        let port = UInt16(bigEndian: name.sin_port)
        #expect(throws: WebListener.Failure.portInUse(port)) { try WebListener(port: port, using: &random) }
    }
}
