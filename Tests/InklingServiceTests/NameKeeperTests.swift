import Foundation
import InklingService
import InklingModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// The names of private chats that a state directory remembers.
@Suite("Names of private chats")
struct NameKeeperTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("names-\(UUID().uuidString)")
    private let secret: Secret

    init() throws {
        secret = try Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var keeper: NameKeeper { NameKeeper(in: folder.path) }

    private func refusal(_ chat: Chat, isConfirmed: Bool = false) -> String? {
        keeper.refusal(of: chat, isConfirmed: isConfirmed)?.code
    }

    private func write(_ text: String, to name: String) throws {
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }

    // A-33, R40
    @Test("the open chat of a private chat's name, or of one that looks like it, needs the user's word each time")
    func openName() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(refusal(try Chat("team")) == nil, "no private chat had it")
        #expect(self.keeper.doubt(about: try Chat("shed", secret: secret)) == nil)
        #expect(refusal(try Chat("shed")) == nil, "a question stores nothing")
        let other = folder.appendingPathComponent("other")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        let keeper = NameKeeper(in: other.path)
        #expect(keeper.refusal(of: try Chat("team", secret: secret), isConfirmed: false) == nil)
        for name in ["team", "Team", "t\u{435}am", "te-am", "TEAM"] {
            #expect(keeper.refusal(of: try Chat(name), isConfirmed: false)?.code == "private-name", "\(name)")
            #expect(keeper.refusal(of: try Chat(name), isConfirmed: true) == nil, "\(name)")
            #expect(keeper.refusal(of: try Chat(name), isConfirmed: false)?.code == "private-name", "\(name)")
        }
        #expect(keeper.refusal(of: try Chat("garden"), isConfirmed: false) == nil)
        #expect(keeper.refusal(of: try Chat("team", secret: secret), isConfirmed: false) == nil, "the private one")
    }

    // A-33
    @Test("a private chat that an older release kept has a private name")
    func keptName() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(KeptChatsFile(in: folder.path).write([try Chat("team", secret: secret), try Chat("garden")]) == nil)
        #expect(refusal(try Chat("Team")) == "private-name")
        #expect(refusal(try Chat("garden")) == nil)
    }

    // A-33
    @Test(
        "where a list is damaged, newer or not readable, every bare name is refused, and the file stays",
        arguments: [KeptChatsFile.name, NameKeeper.fileName], ["{", #"{"version":99,"chats":[]}"#, "\0\u{7F}", "[]"])
    func unknown(_ name: String, _ text: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try write(text, to: name)
        let error = try #require(keeper.refusal(of: try Chat("garden"), isConfirmed: false))
        #expect(error.code == "names-unknown" && error.description.contains(name))
        #expect(refusal(try Chat("garden"), isConfirmed: true) == nil)
        #expect(refusal(try Chat("team", secret: secret)) == nil, "an invite leads to its chat")
        if name == KeptChatsFile.name { _ = KeptChatsFile(in: folder.path).read() }
        #expect(refusal(try Chat("garden")) == "names-unknown", "also the next time")
    }

    // A-33
    @Test("a folder in the place of a list, and a list of another user's kind, refuse every bare name")
    func folderInPlace() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent(NameKeeper.fileName), withIntermediateDirectories: true)
        #expect(refusal(try Chat("garden")) == "names-unknown")
    }

    // A-34
    @Test("a private chat takes neither the default name nor that of an open chat used before, unless confirmed")
    func capturedName() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(refusal(try Chat("garden")) == nil)
        for name in ["lobby", "L0bby", "garden", "Garden"] {
            #expect(refusal(try Chat(name, secret: secret)) == "open-name", "\(name)")
        }
        let settled = NameKeeper(in: folder.path, settledName: "kitchen")
        #expect(settled.refusal(of: try Chat("kitchen", secret: secret), isConfirmed: false)?.code == "open-name")
        #expect(refusal(try Chat("lobby", secret: secret), isConfirmed: true) == nil)
        #expect(refusal(try Chat("lobby", secret: secret)) == nil, "it was confirmed")
        #expect(refusal(try Chat("lobby")) == "private-name")
    }

    /// Names that a reader takes for "family".
    static let alike = [
        "f\u{430}mily", "family ", " family", "Family", "FAMILY", "fami\u{4CF}y", "fam1ly", "fa-mily", "family.",
        "\u{FF46}amily", "\u{1D41F}amily", "family\u{FE0F}", "fa\u{34F}mily", "family\u{3164}", "family\u{2800}",
        "family\u{E0100}", "farnily",
    ]

    // A-69
    @Test("a private chat that looks like another one needs the user's word once", arguments: alike)
    func similarName(_ name: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(refusal(try Chat("family", secret: secret)) == nil)
        let other = try Chat(name, secret: try Secret("bbbbbbbbbbbbbbbbbbbbbbbbba"))
        for _ in 0..<2 {
            let error = try #require(keeper.refusal(of: other, isConfirmed: false))
            #expect(error.code == "similar-name" && error.description.contains("\"family\""))
        }
        #expect(refusal(other, isConfirmed: true) == nil)
        #expect(refusal(other) == nil, "it was confirmed")
        #expect(refusal(try Chat("family", secret: secret)) == nil, "it was there first")
        #expect(refusal(try Chat(name)) == "private-name", "the open chat is another matter")
    }

    // A-69
    @Test("a private chat that looks like a kept one of an older release needs the user's word")
    func similarToKept() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(KeptChatsFile(in: folder.path).write([try Chat("family", secret: secret)]) == nil)
        #expect(refusal(try Chat("Family", secret: secret)) == "similar-name")
        #expect(refusal(try Chat("family", secret: secret)) == nil)
    }

    // A-69, R42
    @Test("names of signs are alike if only blanks and invisible characters differ, and other names are not alike")
    func differentNames() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in [
            "family", "families", "family 2", "our family", "familia", "\u{1F3E0}", "\u{1F525}", "\u{5BB6}\u{65CF}",
            "\u{441}\u{435}\u{43C}\u{44C}\u{44F}", "Ian", "Alan", "garden",
        ] { #expect(refusal(try Chat(name, secret: secret)) == nil, "\(name)") }
        for name in ["\u{1F3E0} ", "\u{1F3E0}\u{FE0F}"] {
            #expect(refusal(try Chat(name, secret: secret)) == "similar-name", "\(name)")
        }
    }

    // A-33
    @Test("a node that leaves no trace adds no name")
    func ephemeral() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let keeper = NameKeeper(in: folder.path, remembers: false)
        #expect(keeper.refusal(of: try Chat("team", secret: secret), isConfirmed: false) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    // A-33
    @Test("while another process holds the lock of the names, the event loop goes on, and known names wait for nothing")
    func lock() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (team, other) = (try Chat("team", secret: secret), try Chat("Team", secret: secret))
        let garden = try Chat("garden")
        #expect(refusal(garden) == nil)
        let lock = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(lock) }
        flock(lock, LOCK_EX)
        let rescue = Task {
            try await Task.sleep(for: .seconds(5))
            flock(lock, LOCK_UN)
        }
        let (keeper, loop) = (self.keeper, MultiThreadedEventLoopGroup.singleton.next())
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        let codes = Mutex<[String?]>([])
        let done = loop.makePromise(of: Void.self)
        loop.execute {
            for chat in [team, other] {
                keeper.refusal(of: chat, isConfirmed: false, on: loop, threads: threads) { error in
                    codes.withLock { $0.append(error?.code) }
                    if codes.withLock(\.count) == 2 { done.succeed() }
                }
            }
        }
        let isKnown = try await loop.submit {
            var isAnswered = false
            keeper.refusal(of: garden, isConfirmed: false, on: loop, threads: threads) { isAnswered = $0 == nil }
            return isAnswered
        }.get()
        #expect(isKnown && codes.withLock(\.isEmpty))
        #expect(keeper.doubt(about: try Chat("team")) == nil, "the name is not stored yet")
        flock(lock, LOCK_UN)
        rescue.cancel()
        try await done.futureResult.get()
        #expect(codes.withLock(\.self) == [nil, "similar-name"])
        try await threads.shutdownGracefully()
    }

    // A-33
    @Test("a full list refuses another private chat, and never forgets a private name for one")
    func full() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var names = ChatNames()
        names.privateNames = (0..<DaemonLimits.privateNames).map { "chat \($0)" }
        try write(String(decoding: names.bytes, as: UTF8.self), to: NameKeeper.fileName)
        #expect(refusal(try Chat("team", secret: secret)) == "name-not-kept")
        #expect(refusal(try Chat("chat 0", secret: secret)) == nil)
        #expect(refusal(try Chat("chat 0")) == "private-name")
    }
}
