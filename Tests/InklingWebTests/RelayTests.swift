import Glibc
import InklingWeb
import NIOCore
import Testing

@Suite("The lines of a page", .timeLimit(.minutes(2)))
struct RelayTests {
    @Test("each line passes unchanged in both directions")
    func lines() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        for text in [#"{"do":"send","text":"Grüße, \n 你好 👋","id":1}"#, "not JSON", "", " ", #"{"do":"quit"}"#] {
            page.send(text)
            #expect(daemon.line() == text)
            daemon.write(text + "\n")
            #expect(page.text() == text)
        }
        daemon.write("one\ntwo\nthr")
        #expect(page.text() == "one" && page.text() == "two")
        daemon.write("ee\n")
        #expect(page.text() == "three")
        try await stage.end()
    }

    @Test("a message of 1 MiB passes, in one frame or in many, with pings between them")
    func longest() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: WebLimits.message)
        let receiver = Task.detached { (daemon.bytes(count: bytes.count + 1), daemon.bytes(count: bytes.count + 1)) }
        page.send(Frame(opcode: Frame.text, bytes: bytes))
        page.send(Frame(opcode: Frame.text, isLast: false, bytes: Array(bytes[..<10])))
        page.send(Frame(opcode: Frame.ping, bytes: [1, 2, 3]))
        page.send(Frame(opcode: Frame.continuation, isLast: false, bytes: []))
        page.send(Frame(opcode: Frame.continuation, bytes: Array(bytes[10...])))
        let received = await receiver.value
        #expect(received.0 == bytes + [0x0A] && received.1 == bytes + [0x0A])
        #expect(page.frame() == Frame(opcode: Frame.pong, bytes: [1, 2, 3]))
        daemon.write(bytes + [0x0A])
        #expect(page.frame()?.bytes == bytes)
        try await stage.end()
    }

    /// Frames that end a page, by name, with the code of the close.
    static let faults: [(String, Int, [UInt8])] = {
        let text = Frame(opcode: Frame.text, bytes: Array("{}".utf8))
        let half = [UInt8](repeating: UInt8(ascii: "x"), count: WebLimits.message / 2 + 1)
        return [
            ("binary", 4005, WebClient.bytes(of: Frame(opcode: Frame.binary, bytes: [1]))),
            ("a line feed", 4005, WebClient.bytes(of: Frame(opcode: Frame.text, bytes: Array("{}\n{}".utf8)))),
            ("a long frame", 4005, WebClient.bytes(of: Frame(opcode: Frame.text, bytes: half + half))),
            (
                "long fragments", 4005,
                WebClient.bytes(of: Frame(opcode: Frame.text, isLast: false, bytes: half))
                    + WebClient.bytes(of: Frame(opcode: Frame.continuation, bytes: half))
            ),
            ("no UTF-8", 1007, WebClient.bytes(of: Frame(opcode: Frame.text, bytes: [0xFF]))),
            ("no mask", 1002, WebClient.bytes(of: text, isMasked: false)),
            ("a compressed frame", 1002, WebClient.bytes(of: text, reserved: 0x40)),
            ("a continuation of nothing", 1002, WebClient.bytes(of: Frame(opcode: Frame.continuation, bytes: [1]))),
            (
                "a message within another", 1002,
                WebClient.bytes(of: Frame(opcode: Frame.text, isLast: false, bytes: [])) + WebClient.bytes(of: text)
            ),
            ("an unknown kind of frame", 1002, WebClient.bytes(of: Frame(opcode: 3, bytes: []))),
            ("a long ping", 1002, WebClient.bytes(of: Frame(opcode: Frame.ping, bytes: Array(half.prefix(126))))),
        ]
    }()

    @Test("a frame outside of the rules ends the page, and the daemon gets nothing", arguments: faults)
    func fault(name: String, code: Int, bytes: [UInt8]) async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        page.stream.write(bytes)
        #expect(page.closeCode() == code, "\(name)")
        #expect(daemon.isClosedSilently)
        try await stage.end()
    }

    @Test("a page can't end the daemon", arguments: [#"{"do":"stop","id":"x"}"#, #"{ "id":"x", "do":"\u0073top"}"#])
    func stop(line: String) async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        page.send(line)
        #expect(
            page.text()
                == #"{"on":"error","code":"inkling-web-refused","text":"A page can't end the daemon.","id":"x"}"#)
        page.send("next")
        #expect(daemon.line() == "next")
        try await stage.end()
    }

    // MARK: The memory of the server

    @Test("a page hears what the server and its tab remember, and both take what the page tells")
    func memory() async throws {
        let stage = try await WebStage(memory: PageMemory(proposal: "alice", lobby: "hall", shown: "team"))
        let page = try WebClient(stage.address)
        let answer = try #require(page.open("ticket", try await stage.ticket()))
        let session = try #require(WebClient.bytes("session", of: answer))
        #expect(
            page.text()
                == #"{"on":"inkling-web","state":"open","lobby":"hall","proposal":"alice","shown":"team"}"#)
        let daemon = try stage.daemon.greet()
        #expect(page.text() == FakeDaemon.greeting)
        for line in [
            #"{"do":"inkling-web-keep","kind":"drafts","chat":"b","text":"half"}"#,
            #"{"do":"inkling-web-keep","kind":"drafts","chat":"a","text":"gone"}"#,
            #"{"do":"inkling-web-keep","kind":"drafts","chat":"a","text":""}"#,
            #"{"do":"inkling-web-keep","kind":"places","chat":"a","text":"1/2 -5"}"#,
            #"{"do":"inkling-web-keep","kind":"places","chat":"c","text":"1/3 0"}"#,
            // With the other texts, this one is too long.
            #"{"do":"inkling-web-keep","kind":"places","chat":"c","text":"\#(String(repeating: "x", count: 256 << 10))"}"#,
            #"{"do":"inkling-web-keep","kind":"other","chat":"a","text":"x"}"#,
            #"{"do":"inkling-web-keep","kind":"choices","chat":"notify"}"#,
            #"{"do":"inkling-web-named"}"#, #"{"do":"inkling-web-shown","chat":"a"}"#,
            #"{"do":"inkling-web-shown","chat":"\#(String(repeating: "x", count: 65))"}"#,
        ] { page.send(line) }
        page.send("next")
        #expect(daemon.line() == "next", "the daemon gets none of these lines")
        #expect(stage.memory == PageMemory(lobby: "hall", shown: "team"), "the name is stored at once")
        page.stream.close()
        try await stage.wait("the page is gone") { $0.pageCount == 0 }
        #expect(stage.memory == PageMemory(lobby: "hall", shown: "a"))
        let again = try WebClient(stage.address)
        #expect(again.open("session", session) != nil)
        #expect(
            again.text()
                == #"{"on":"inkling-web","state":"open","lobby":"hall","shown":"a","drafts":{"b":"half"},"places":{"a":"1/2 -5"}}"#
        )
        let other = try WebClient(stage.address)
        #expect(other.open("ticket", try await stage.ticket()) != nil)
        #expect(other.text() == #"{"on":"inkling-web","state":"open","lobby":"hall","shown":"a"}"#)
        try await stage.end()
    }

    @Test("the program finds out why a chat has no people, and the page hears of a failure too")
    func examine() async throws {
        let stage = try await WebStage()
        let (page, _, _) = try await stage.page()
        page.send(#"{"do":"inkling-web-examine","chat":"team"}"#)
        #expect(
            page.text() == #"{"on":"inkling-web","state":"examined","name":"team","found":"{\"ok\":true}"}"#)
        page.send(#"{"do":"inkling-web-examine"}"#)
        page.send(#"{"do":"inkling-web-examine","chat":"nothing"}"#)
        #expect(page.text() == #"{"on":"inkling-web","state":"examined","name":"nothing"}"#)
        #expect(stage.examined == ["team", "nothing"])
        try await stage.end()
    }

    @Test("the end of a page ends its daemon connection at once", arguments: [false, true])
    func pageEnds(withClose: Bool) async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        if withClose {
            page.send(Frame(opcode: Frame.close, bytes: [0x03, 0xE8]))
            #expect(page.closeCode() == 1000)
            #expect(page.stream.isClosedSilently)
        } else {
            page.stream.close()
        }
        #expect(daemon.isClosedSilently)
        try await stage.wait("the page is gone") { $0.pageCount == 0 }
        try await stage.end()
    }

    @Test("a page that answers pings stays, and one that does not ends")
    func pings() async throws {
        var limits = WebStage.limits
        limits.ping = .milliseconds(20)
        limits.silence = .milliseconds(200)
        let stage = try await WebStage(limits)
        let (page, daemon, _) = try await stage.page()
        for _ in 0..<20 {
            #expect(page.frame() == Frame(opcode: Frame.ping, bytes: []))
            page.send(Frame(opcode: Frame.pong, bytes: []))
        }
        var last: Frame?
        while let frame = page.frame() { last = frame }
        #expect(last == Frame(opcode: Frame.ping, bytes: []))
        #expect(daemon.isClosedSilently)
        try await stage.end()
    }

    // MARK: The loss of the daemon

    @Test("the page hears of the daemon's end and return, and lines meanwhile get an error")
    func lostAndBack() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        stage.daemon.obstacle.withLock { $0 = DaemonObstacle(text: "No daemon is running.", starts: true) }
        daemon.write(#"{"on":"message"}"# + "\n" + "half")
        daemon.close()
        #expect(page.text() == #"{"on":"message"}"#)
        #expect(
            page.text() == #"{"on":"inkling-web","state":"lost","text":"Inkling is not running.","starts":true}"#)
        #expect(
            page.text() == #"{"on":"inkling-web","state":"lost","text":"No daemon is running.","starts":true}"#)
        page.send(#"{"do":"chats","id":7}"#)
        #expect(
            page.text() == #"{"on":"error","code":"inkling-web-lost","text":"Inkling is not running.","id":7}"#)
        page.send(#"{"do":"inkling-web-start"}"#)
        let next = try stage.daemon.greet()
        #expect(stage.daemon.starts.withLock { $0 } == 1)
        #expect(page.text() == #"{"on":"inkling-web","state":"back"}"#)
        #expect(page.text() == FakeDaemon.greeting)
        page.send("again")
        #expect(next.line() == "again")
        try await stage.end()
    }

    // A-72
    @Test("when a prompt that ran the node ends, and no other takes its place, a daemon does by itself")
    func successor() async throws {
        var limits = WebStage.limits
        limits.successor = .milliseconds(1_500)
        let stage = try await WebStage(limits)
        let (page, first, _) = try await stage.page()
        let holder = FakeDaemon.greeting.dropLast() + #","holder":true}"#
        first.close()
        #expect(page.text()?.contains("Inkling is not running.") == true)
        // Another prompt is there at once.
        let second = try stage.daemon.greet(String(holder))
        #expect(page.text() == #"{"on":"inkling-web","state":"back"}"# && page.text() == String(holder))
        stage.daemon.obstacle.withLock { $0 = DaemonObstacle(text: "No daemon is running.", starts: true) }
        second.close()
        #expect(page.text()?.contains("The prompt that ran Inkling has ended.") == true)
        try await Task.sleep(for: .milliseconds(100))
        #expect(stage.daemon.starts.withLock { $0 } == 0, "another prompt may come")
        _ = try stage.daemon.greet()
        #expect(stage.daemon.starts.withLock { $0 } == 1)
        #expect(page.text() == #"{"on":"inkling-web","state":"back"}"# && page.text() == FakeDaemon.greeting)
        try await stage.end()
    }

    @Test("a page that opens without a daemon hears of that first")
    func openedWithoutDaemon() async throws {
        let stage = try await WebStage()
        stage.daemon.obstacle.withLock { $0 = DaemonObstacle(text: "It is another user's.", starts: false) }
        let page = try WebClient(stage.address)
        #expect(page.open("ticket", try await stage.ticket()) != nil)
        #expect(
            page.text() == #"{"on":"inkling-web","state":"lost","text":"It is another user's.","starts":false}"#)
        stage.daemon.obstacle.withLock { $0 = nil }
        _ = try stage.daemon.greet()
        #expect(page.text() == #"{"on":"inkling-web","state":"back"}"# && page.text() == FakeDaemon.greeting)
        try await stage.end()
    }

    @Test(
        "a daemon that the program can't use is no daemon",
        arguments: [
            FakeDaemon.greeting.replacing("131075", with: "1"),
            FakeDaemon.greeting.replacing(#""interface":1"#, with: #""interface":2"#),
            #"{"on":"error","at":1.000000,"code":"too-many-front-ends","text":"x"}"#, "SSH-2.0",
        ])
    func unusableDaemon(line: String) async throws {
        let stage = try await WebStage()
        let page = try WebClient(stage.address)
        #expect(page.open("ticket", try await stage.ticket()) != nil)
        let daemon = try stage.daemon.greet(line)
        let text = try #require(page.text())
        #expect(text.hasPrefix(#"{"on":"inkling-web","state":"lost","text":"#) && text.hasSuffix(#""starts":false}"#))
        #expect(daemon.isClosedSilently)
        try await stage.end()
    }

    @Test("a silent daemon is lost in time")
    func silentDaemon() async throws {
        var limits = WebStage.limits
        limits.greeting = .milliseconds(50)
        let stage = try await WebStage(limits)
        let page = try WebClient(stage.address)
        #expect(page.open("ticket", try await stage.ticket()) != nil)
        let daemon = try stage.daemon.accept()
        #expect(page.text()?.contains("Inkling does not answer.") == true)
        #expect(daemon.isClosedSilently)
        try await stage.end()
    }

    @Test("lines that come before the daemon's first line wait for it")
    func earlyLines() async throws {
        let stage = try await WebStage()
        let page = try WebClient(stage.address)
        page.upgrade()
        let proof = try #require(page.proof("ticket", try await stage.ticket()))
        // One segment, so that the lines are there together with the proof.
        page.stream.write(
            [#"{"proof":"\#(proof)"}"#, "one", "two"].flatMap {
                WebClient.bytes(of: Frame(opcode: Frame.text, bytes: Array($0.utf8)))
            })
        let daemon = try stage.daemon.greet()
        #expect(daemon.line() == "one" && daemon.line() == "two")
        try await stage.end()
    }

    // MARK: Slow readers

    @Test("a page that the daemon cuts off closes with 4004")
    func cutOff() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        let line = #"{"on":"error","at":1.000000,"code":"too-slow","text":"x"}"#
        daemon.write(line + "\n")
        #expect(page.text() == line)
        #expect(page.closeCode() == 4004)
        try await stage.end()
    }

    @Test("the server reads nothing from the daemon while the page does not read")
    func slowPage() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page(receiveBuffer: 1 << 18)
        let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
        let most = 64 << 20
        let written = daemon.writeUntilFull(line, most: most)
        #expect(written < most / 2, "the server holds what nobody reads")
        let lines = written / line.count
        let finish = Array(line.dropFirst(written % line.count))
        let writer = Task.detached { daemon.write(finish + Array("last\n".utf8)) }
        for _ in 0...lines { try #require(page.frame()?.bytes == Array(line.dropLast())) }
        #expect(page.text() == "last")
        #expect(await writer.value)
        try await stage.end()
    }

    @Test("a daemon that ends the connection of a page that does not read closes the page with 4004")
    func slowPageCutOff() async throws {
        var limits = WebStage.limits
        limits.closing = .seconds(10)
        let stage = try await WebStage(limits)
        let (page, daemon, _) = try await stage.page(receiveBuffer: 1 << 18)
        let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
        _ = daemon.writeUntilFull(line, most: 64 << 20)
        daemon.close()
        var next = page.frame()
        while next?.bytes == Array(line.dropLast()) { next = page.frame() }
        #expect(next?.code == 4004)
        try await stage.wait("the page is gone") { $0.pageCount == 0 }
        try await stage.end()
    }

    @Test("the server reads nothing from the page while the daemon does not read")
    func slowDaemon() async throws {
        let stage = try await WebStage()
        let (page, daemon, _) = try await stage.page()
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 999)
        let frame = WebClient.bytes(of: Frame(opcode: Frame.text, bytes: text))
        let most = 64 << 20
        let written = page.stream.writeUntilFull(frame, most: most)
        #expect(written < most / 2, "the server holds what nobody reads")
        let finish = Array(frame.dropFirst(written % frame.count))
        let writer = Task.detached { [stream = page.stream] in stream.write(finish) }
        for _ in 0...(written / frame.count) { try #require(daemon.bytes(count: 1_000) == text + [0x0A]) }
        #expect(await writer.value)
        page.send("last")
        #expect(daemon.line() == "last")
        try await stage.end()
    }
}

extension RawStream {
    func bytes(count: Int) -> [UInt8]? { exactly(count) }
}
