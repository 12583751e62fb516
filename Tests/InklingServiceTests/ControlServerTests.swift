import Glibc
import InklingService
import InklingModel
import NIOCore
import NIOPosix
import Testing

/// The socket of a daemon, with programs that behave well and badly.
@Suite("The socket of a daemon", .serialized, .timeLimit(.minutes(2)))
struct ControlServerTests {
    // A-1, A-3, A-15
    @Test("each connection begins with ready, and each request with an ID has one answer with it")
    func conversation() async throws {
        let stage = try await DaemonStage()
        let program = try RawFrontEnd(stage)
        let ready = program.line() ?? ""
        #expect(ready.hasPrefix(#"{"on":"ready","at":"#) && !ready.contains("\"chat\""))
        #expect(ready.contains(#""version":"1.2.3""#) && ready.contains(#""interface":1,"state":"2049:131075"}"#))
        program.write(
            #"{"do":"join","chat":"kitchen","id":1}"# + "\n" + #"{"do":"who"}"# + "\n" + #"{"do":"away"}"# + "\n")
        program.write(#"{"do":"send","text":"hi","tag":"t","id":"two"}"# + "\n" + #"{"do":"quit","id":3}"# + "\n")
        let lines = program.lines(until: #""id":3"#)
        #expect(lines.count == 6)
        #expect(lines[0].hasPrefix(#"{"on":"ok","#) && lines[0].hasSuffix(#""chat":"kitchen","peers":[],"id":1}"#))
        #expect(lines[1].contains(#""code":"open-chat""#))
        #expect(lines[2].hasPrefix(#"{"on":"who","#) && !lines[2].contains("\"id\""))
        #expect(lines[3].hasPrefix(#"{"on":"self","#) && lines[3].hasSuffix(#""away":true}"#))
        #expect(lines[4].hasSuffix(#""chat":"kitchen","message":1,"tag":"t","to":1,"id":"two"}"#))
        #expect(lines[5].hasSuffix(#""id":3}"#) && program.line() == nil)
        try await stage.wait { $0.service.frontEndCount == 0 && $0.node.chats.isEmpty }
        try await stage.end()
    }

    // J-4, A-5
    @Test("garbage yields an error a line and changes nothing; half a line and 1 MiB without an end are lines (R35)")
    func garbage() async throws {
        let stage = try await DaemonStage()
        let (program, other) = (try RawFrontEnd(stage), try await stage.attach())
        _ = program.line()
        program.write(String(repeating: "garbage\n", count: 1_000))
        for number in 1...1_000 {
            let line = program.line() ?? ""
            #expect(line.contains(#""code":"bad-command""#) && line.hasSuffix(#""line":\#(number)}"#))
        }
        program.write(String(repeating: "x", count: 1 << 20) + "x\n")
        #expect(program.line()?.hasSuffix(#""line":1001}"#) == true)
        program.write(#"{"do":"frobnicate","id":7}"# + "\n")
        #expect(program.line()?.hasSuffix(#""line":1002,"id":7}"#) == true)
        program.write(#"{"do":"chats","id":8}"#)
        program.endInput()
        #expect(program.line()?.hasSuffix(#""chats":[],"id":8}"#) == true)
        #expect(program.line() == nil)
        #expect(try await other.ask(.chats) == .chats([]))
        try await stage.end()
    }

    // A-21
    @Test("a front end that is killed takes its draft with it at once, and no other's (R34)")
    func killed() async throws {
        let stage = try await DaemonStage()
        let (program, other) = (try RawFrontEnd(stage), try await stage.attach())
        _ = program.line()
        program.write(#"{"do":"join","chat":"kitchen"}"# + "\n" + #"{"do":"compose","text":"x","id":1}"# + "\n")
        _ = program.lines(until: #""id":1"#)
        _ = try await other.ask(.join(try Chat("kitchen")))
        _ = try await other.ask(.open(chat: "kitchen"))
        let begin = ContinuousClock.now
        program.close()
        try await stage.wait { $0.node.requests.last == .stopTyping(chat: "kitchen") }
        #expect(begin.duration(to: .now) < .seconds(1))
        #expect(try await stage.run { $0.service.frontEndCount } == 1)
        #expect(try await other.ask(.compose("y", chat: "kitchen")) == .done)
        try await stage.end()
    }

    @Test("a connection closes when the daemon starts a program: it is close-on-exec from the beginning (R34)")
    func closeOnExec() async throws {
        let stage = try await DaemonStage()
        let program = try RawFrontEnd(stage)
        #expect(program.line()?.contains(#""on":"ready""#) == true)
        var flags: [Int32] = []
        for descriptor in Int32(3)..<1_024 where Self.path(of: descriptor) == stage.path {
            flags.append(fcntl(descriptor, F_GETFD))
        }
        #expect(flags == [FD_CLOEXEC, FD_CLOEXEC], "the listening socket and the connection")
        program.close()
        try await stage.end()
    }

    /// Returns the path to which a socket of this process is bound.
    private static func path(of descriptor: Int32) -> String? {
        var name = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0, name.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return withUnsafeBytes(of: name.sun_path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    // A-30
    @Test("the sixty-fifth front end is told that there is no room, before anything else")
    func full() async throws {
        let stage = try await DaemonStage()
        let programs = try (0..<64).map { _ in try RawFrontEnd(stage) }
        for program in programs { #expect(program.line()?.contains(#""on":"ready""#) == true) }
        let late = try RawFrontEnd(stage)
        #expect(late.line()?.contains(#""code":"too-many-front-ends""#) == true && late.line() == nil)
        await #expect(throws: AttachedNode.Failure.self) { _ = try await stage.attach() }
        programs[5].write(#"{"do":"quit"}"# + "\n")
        #expect(programs[5].line() == nil)
        try await stage.wait { $0.service.frontEndCount == 63 }
        #expect(try RawFrontEnd(stage).line()?.contains(#""on":"ready""#) == true)
        try await stage.end()
    }

    // A-13, A-17
    @Test(
        "another user is turned away and logged, before anything is read (R35)",
        .enabled(if: geteuid() == 0, "only root can be another user"))
    func otherUserAsRoot() async throws {
        let stage = try await DaemonStage()
        // The test loosens the modes of the folder and the socket, which would keep other users out.
        chmod(stage.folder, 0o755)
        chmod(stage.folder + "/run", 0o755)
        chmod(stage.path, 0o666)
        let own = try await stage.attach()
        let other = try RawFrontEnd(stage, of: 65_534)
        other.write(#"{"do":"stop","id":1}"# + "\n" + #"{"do":"status","id":2}"# + "\n")
        let line = other.line() ?? ""
        #expect(line.hasPrefix(#"{"on":"error""#) && line.contains(#""code":"other-user""#), "\(line)")
        #expect(!line.contains("\"line\"") && !line.contains("\"id\"") && other.line() == nil)
        #expect(try await stage.run { $0.service.frontEndCount } == 1)
        let reports = try await stage.run { $0.reports }
        #expect(reports.count == 1 && reports.first?.contains("user ID 65534") == true, "\(reports)")
        #expect(try await own.ask(.chats) == .chats([]))
        try await stage.end()
    }

    // A-29
    @Test("one that does not read is cut off, and the others get everything (R35)")
    func slow() async throws {
        let stage = try await DaemonStage()
        let (slow, other) = (try RawFrontEnd(stage), try await stage.attach())
        slow.write(#"{"do":"join","chat":"kitchen","id":1}"# + "\n")
        _ = slow.lines(until: #""id":1"#)
        _ = try await other.ask(.join(try Chat("kitchen")))
        let text = String(repeating: "x", count: 10_000)
        for start in stride(from: 1, through: 600, by: 20) {
            try await stage.run { world in
                for number in start..<start + 20 { world.node.tell(Somebody.message(number, text)) }
            }
            try await other.wait { $0.texts.count == start + 19 }
        }
        try await stage.wait("cut off") { $0.service.frontEndCount == 1 }
        #expect(try await other.run { $0.texts.count } == 600)
        try await stage.end()
    }

    // A-29
    @Test("a front end that asks for more than it reads is answered as far as it reads, and no further")
    func greedy() async throws {
        let stage = try await DaemonStage()
        try await stage.run { world in
            world.node.people["kitchen"] = Array(repeating: Somebody.peer(Somebody.bob), count: 1_000)
        }
        let greedy = try RawFrontEnd(stage)
        greedy.write(#"{"do":"join","chat":"kitchen","id":1}"# + "\n")
        _ = greedy.lines(until: #""code":"open-chat""#)
        let before = try await stage.run { $0.node.requests.count }
        greedy.write(String(repeating: #"{"do":"who"}"# + "\n", count: 20))
        try await stage.wait("the first answers") { $0.node.requests.count > before }
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await stage.run { $0.node.requests.count } < before + 10, "each of them has 300 kB")
        for _ in 0..<20 { #expect(greedy.line()?.hasPrefix(#"{"on":"who","#) == true) }
        try await stage.end()
    }

    // A-29
    @Test("one that reads a long answer for longer than 10 s is not cut off, and is when it stops")
    func longAnswer() async throws {
        let stage = try await DaemonStage()
        let reader = try RawFrontEnd(stage)
        reader.write(#"{"do":"join","chat":"kitchen","id":1}"# + "\n")
        _ = reader.lines(until: #""code":"open-chat""#)
        try await stage.run { world in
            world.node.people["kitchen"] = Array(repeating: Somebody.peer(Somebody.bob), count: 10_000)
        }
        reader.write(#"{"do":"who"}"# + "\n")
        try await stage.wait("the question") { $0.node.requests.last == .peers(chat: "kitchen") }
        try await stage.run { $0.node.tell(Somebody.message(1)) }
        for _ in 0..<4 {
            try await stage.run { world in
                world.ahead += 6_000
                world.service.tick()
            }
            #expect(try await stage.run { $0.service.frontEndCount } == 1)
            reader.skip(400_000)
            try await Task.sleep(for: .milliseconds(50))
        }
        try await stage.run { world in
            world.ahead += 10_001
            world.service.tick()
        }
        #expect(try await stage.run { $0.service.frontEndCount } == 0)
        try await stage.end()
    }

    // A-17
    @Test("the last line says that the daemon ends")
    func stopped() async throws {
        let stage = try await DaemonStage()
        let program = try RawFrontEnd(stage)
        _ = program.line()
        try await stage.end()
        let last = program.line() ?? ""
        #expect(last.contains(#""on":"error""#) && last.contains(#""code":"stopped""#) && !last.contains("\"line\""))
        #expect(program.line() == nil)
    }

    // MARK: The file

    private static func folder() throws -> String {
        let folder = "/tmp/inkling-socket-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try #require(mkdir(folder, 0o700) == 0)
        return folder
    }

    private static func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    // A-12, A-14
    @Test("the folder and the socket are the user's alone; a stale socket is replaced, a living one never")
    func socket() throws {
        let folder = try Self.folder()
        let path = folder + "/run/socket"
        let first = try ListeningSocket(at: path)
        #expect(Self.mode(folder + "/run") == 0o700 && Self.mode(path) == 0o600)
        #expect(throws: ListeningSocket.Failure.inUse) { _ = try ListeningSocket(at: path) }
        close(first.descriptor)
        let second = try ListeningSocket(at: path)
        #expect(Self.mode(path) == 0o600)
        second.remove()
        close(second.descriptor)
        #expect(access(path, F_OK) != 0)
        rmdir(folder + "/run")
        rmdir(folder)
    }

    // A-12
    @Test("a folder that others may write to, what is no socket, and a path that is too long are refused")
    func refusedPlaces() throws {
        let folder = try Self.folder()
        #expect(throws: ListeningSocket.Failure.pathTooLong) {
            _ = try ListeningSocket(at: folder + "/" + String(repeating: "x", count: 100))
        }
        close(open(folder + "/file", O_CREAT | O_WRONLY, 0o600))
        #expect(throws: ListeningSocket.Failure.notSocket) { _ = try ListeningSocket(at: folder + "/file") }
        #expect(throws: ListeningSocket.Failure.system(ENOENT)) { _ = try ListeningSocket(at: folder + "/a/b/socket") }
        chmod(folder, 0o770)
        #expect(throws: ListeningSocket.Failure.folder) { _ = try ListeningSocket(at: folder + "/socket") }
        unlink(folder + "/file")
        rmdir(folder)
    }

    @Test("a socket is handed over only to the process that it is for")
    func handedOver() {
        #expect(ListeningSocket(process: nil, count: "1") == nil)
        #expect(ListeningSocket(process: "1", count: "1") == nil)
        #expect(ListeningSocket(process: "\(getpid())", count: "0") == nil)
        #expect(ListeningSocket(process: "\(getpid())", count: nil) == nil)
    }

    private static func write(_ text: String, _ path: String) {
        let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        _ = Glibc.write(file, text, text.utf8.count)
        close(file)
    }
}
