import Glibc
import InklingWeb
import InklingWire
import NIOCore
import Testing

@Suite("The handshake of a page", .timeLimit(.minutes(2)))
struct HandshakeTests {
    @Test("a ticket opens a page and yields a session key, which opens further pages")
    func opening() async throws {
        let stage = try await WebStage()
        let (page, daemon, session) = try await stage.page()
        let second = try WebClient(stage.address)
        #expect(second.open("session", session) == #"{"web":1}"#)
        let secondDaemon = try stage.daemon.greet()
        #expect(second.text() == FakeDaemon.greeting)
        page.send("1")
        second.send("2")
        #expect(daemon.line() == "1" && secondDaemon.line() == "2")
        try await stage.end()
    }

    @Test("nothing of a page reaches the daemon before its proof")
    func beforeProof() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.upgrade()
        #expect(try client.proof("ticket", await stage.ticket()) != nil)
        #expect(!stage.daemon.isWanted)
        try await stage.end()
    }

    @Test("a used ticket closes its second page, and the open page gets a report")
    func usedTicket() async throws {
        let stage = try await WebStage()
        let ticket = try await stage.ticket()
        let first = try WebClient(stage.address)
        #expect(first.open("ticket", ticket) != nil)
        _ = try stage.daemon.greet()
        #expect(first.text() == FakeDaemon.greeting)
        let second = try WebClient(stage.address)
        second.upgrade()
        second.send(WebClient.hello("ticket", ticket))
        #expect(second.closeCode() == 4002)
        #expect(first.text() == #"{"on":"inkling-web","state":"reused"}"#)
        #expect(!stage.daemon.isWanted)
        try await stage.end()
    }

    @Test("of two handshakes with one ticket, the later proof comes too late")
    func ticketRace() async throws {
        let stage = try await WebStage()
        let ticket = try await stage.ticket()
        let clients = try [WebClient(stage.address), WebClient(stage.address)]
        let proofs = try clients.map { client in
            client.upgrade()
            return try #require(client.proof("ticket", ticket))
        }
        clients[0].send(#"{"proof":"\#(proofs[0])"}"#)
        #expect(clients[0].text()?.hasPrefix(#"{"web":1,"session":""#) == true)
        _ = try stage.daemon.greet()
        #expect(clients[0].text() == FakeDaemon.greeting)
        clients[1].send(#"{"proof":"\#(proofs[1])"}"#)
        #expect(clients[1].closeCode() == 4002)
        #expect(clients[0].text() == #"{"on":"inkling-web","state":"reused"}"#)
        try await stage.end()
    }

    @Test("the server refuses an expired ticket as such, and open pages get no report")
    func expiredTicket() async throws {
        var limits = WebStage.limits
        limits.ticket = .zero
        let stage = try await WebStage(limits)
        let client = try WebClient(stage.address)
        client.upgrade()
        client.send(WebClient.hello("ticket", try await stage.ticket()))
        #expect(client.frame()?.bytes == [0x0F, 0xA2] + Array("the ticket is too old".utf8))
        #expect(stage.reports.isEmpty)
        try await stage.end()
    }

    @Test("a key of another run is unknown", arguments: ["ticket", "session"])
    func unknownKey(kind: String) async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.upgrade()
        client.send(WebClient.hello(kind, [UInt8](repeating: 9, count: 32)))
        #expect(client.closeCode() == 4001)
        try await stage.end()
    }

    @Test("ten wrong keys lock nobody out: the right one works afterwards")
    func wrongProofs() async throws {
        let stage = try await WebStage()
        let ticket = try await stage.ticket()
        for _ in 0..<10 {
            let client = try WebClient(stage.address)
            client.upgrade()
            client.send(WebClient.hello("ticket", ticket))
            #expect(client.text() != nil)
            let wrong = TextEncoding.base64url.encode([UInt8](repeating: 1, count: 32))
            client.send(#"{"proof":"\#(wrong)"}"#)
            #expect(client.closeCode() == 4000)
        }
        let client = try WebClient(stage.address)
        #expect(client.open("ticket", ticket)?.hasPrefix(#"{"web":1,"session":""#) == true)
        try await stage.end()
    }

    @Test("the server's own proof is no page's proof")
    func reflected() async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.upgrade()
        client.send(WebClient.hello("ticket", try await stage.ticket()))
        let answer = try #require(client.text())
        let proof = TextEncoding.base64url.encode(try #require(WebClient.bytes("proof", of: answer)))
        client.send(#"{"proof":"\#(proof)"}"#)
        #expect(client.closeCode() == 4000)
        try await stage.end()
    }

    @Test(
        "a first message of another form ends the connection",
        arguments: [
            "hello", "[]", "{}", #"{"web":2,"key":"ticket","id":"0123456789abcdef","nonce":"NONCE"}"#,
            #"{"web":1,"key":"cookie","id":"0123456789abcdef","nonce":"NONCE"}"#,
            #"{"web":1,"key":"ticket","id":"0123456789abcde","nonce":"NONCE"}"#,
            #"{"web":1,"key":"ticket","id":"0123456789abcdef","nonce":"AAAA"}"#,
            #"{"web":1,"key":"ticket","id":"0123456789abcdef"}"#, #"{"do":"chats"}"#,
        ])
    func malformed(text: String) async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.upgrade()
        let nonce = TextEncoding.base64url.encode(WebClient.nonce)
        client.send(text.replacing("NONCE", with: nonce))
        #expect(client.closeCode() == 4000)
        #expect(!stage.daemon.isWanted)
        try await stage.end()
    }

    @Test("a page may not send more than 8 KiB before its proof", arguments: [9_000, 2 << 20])
    func longMessage(size: Int) async throws {
        let stage = try await WebStage()
        let client = try WebClient(stage.address)
        client.upgrade()
        client.send(String(repeating: "x", count: size))
        #expect(client.closeCode() == 4000)
        try await stage.end()
    }

    @Test("a late proof ends the connection", arguments: [false, true])
    func lateProof(afterHello: Bool) async throws {
        var limits = WebStage.limits
        limits.patience = .milliseconds(200)
        let stage = try await WebStage(limits)
        let client = try WebClient(stage.address)
        client.upgrade()
        if afterHello { #expect(try client.proof("ticket", await stage.ticket()) != nil) }
        #expect(client.closeCode() == 4000)
        try await stage.end()
    }

    @Test("the ninth page is refused, and its ticket works once a page has closed")
    func ninePages() async throws {
        let stage = try await WebStage()
        var pages: [WebClient] = []
        for _ in 0..<WebLimits.pages { pages.append(try await stage.page().page) }
        let ticket = try await stage.ticket()
        let late = try WebClient(stage.address)
        late.upgrade()
        let proof = try #require(late.proof("ticket", ticket))
        late.send(#"{"proof":"\#(proof)"}"#)
        #expect(late.closeCode() == 4003)
        pages[3].stream.close()
        try await stage.wait("a page closes") { $0.pageCount == WebLimits.pages - 1 }
        let next = try WebClient(stage.address)
        #expect(next.open("ticket", ticket)?.hasPrefix(#"{"web":1,"session":""#) == true)
        try await stage.end()
    }

    @Test("the end of the server closes pages with 1001, and other connections")
    func ending() async throws {
        let stage = try await WebStage()
        let page = try await stage.page()
        let idle = try WebClient(stage.address)
        #expect(idle.get("/")?.status == 200)
        async let end: Void = stage.end()
        #expect(page.page.closeCode() == 1001)
        #expect(page.daemon.isClosedSilently && idle.stream.isClosedSilently)
        page.page.send(Frame(opcode: Frame.close, bytes: [0x03, 0xE9]))
        try await end
    }
}
