import InklingService
import InklingModel
import InklingWire
import Logging
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

@testable import Inkling

/// Numbers and times that no node writes, from a member and from the disk, at a daemon with real nodes and files.
@Suite("Numbers and times from members and from the disk", .serialized, .timeLimit(.minutes(2)))
struct ImpossibleTimeTests {
    private static let quiet = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
    private static let invite = "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa"
    /// The latest time of the year 9999 that a number of 64 bits holds, as lines have it.
    private static let latest = "253402300799.999968"

    private static func log() throws -> String {
        try Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa")).logID
    }

    /// A node that keeps its texts in a folder.
    private struct TextNode: Sendable {
        let loop: any EventLoop
        let node: NIOLoopBound<ServedNode>
        let logs: NIOLoopBound<StoredTexts>

        init(_ name: String, in folder: TemporaryFolder, peers: [UInt16] = []) async throws {
            var configuration = Configuration(name: name)
            configuration.stateDirectory = folder.path
            configuration.discovery = false
            configuration.lastWill = false
            configuration.bindAddress = "127.0.0.1"
            configuration.peers = peers.map { "127.0.0.1:\($0)" }
            let settings = configuration
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let started = loop.makePromise(of: (NIOLoopBound<ServedNode>, NIOLoopBound<StoredTexts>).self)
            loop.execute {
                ServedNode.start(settings, on: loop, logger: quiet) { result in
                    started.completeWith(
                        result.map { node in
                            let logs = ImpossibleTimeTests.logs(in: folder, on: loop)
                            node.keepTexts(in: logs, holds: [:])
                            return (NIOLoopBound(node, eventLoop: loop), NIOLoopBound(logs, eventLoop: loop))
                        }.mapError { $0 as any Error })
                }
            }
            self.loop = loop
            (node, logs) = try await started.futureResult.get()
        }

        var identity: NodeIdentity { get async throws { try await loop.submit { node.value.identity }.get() } }

        /// Starts a daemon over the node.
        func daemon() async throws -> DaemonStage {
            try await DaemonStage(on: loop) {
                UnreadTexts(
                    restored: { node.value.takeRestoredTexts(in: $0) }, read: { node.value.readTexts($0, in: $1) })
            } _: {
                node.value
            }
        }

        /// Joins the chat as the only front end does.
        func join() async throws {
            let chat = try Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
            try await loop.submit {
                let frontEnd = node.value.driven()
                frontEnd.attach { _ in }
                frontEnd.ask(.join(chat))
            }.get()
        }

        func stop() async throws {
            let stopped = loop.makePromise(of: Void.self)
            loop.execute { node.value.stop { stopped.succeed() } }
            try await stopped.futureResult.get()
            try await idle()
        }

        /// Waits until all texts are on disk.
        func idle() async throws {
            let written = loop.makePromise(of: Void.self)
            loop.execute { logs.value.whenIdle { written.succeed() } }
            try await written.futureResult.get()
        }
    }

    private static func logs(in folder: TemporaryFolder, on loop: any EventLoop) -> StoredTexts {
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        return StoredTexts(TextDatabase(in: folder.path, on: loop, threads: threads))
    }

    /// Writes records as an earlier or a hostile program leaves them in a folder.
    private static func write(_ records: [[UInt8]], in folder: TemporaryFolder) throws {
        let tables = TextTables(in: folder.path, limits: .init(), merging: { $0 })
        let log = LogName(.texts, try log())
        try tables.begin(log)
        for (place, record) in records.enumerated() {
            let kind: RowKind =
                switch record[0] {
                case TextRecord.highestEntry(0).bytes[0]: .highestEntry
                case 8: .waiting
                default: .unread
                }
            try tables.put(record, kind, Int64(place), in: log)
        }
    }

    /// Returns a record whose time of arrival or writing is another one.
    private static func bytes(_ record: TextRecord, at time: Double) -> [UInt8] {
        var bytes = record.bytes
        // Behind the kind, the entry of a waiting text, the key and the ID.
        var place = 1 + 32 + 24
        if case .waiting = record { place += 8 }
        withUnsafeBytes(of: time.bitPattern.bigEndian) { bytes.replaceSubrange(place..<place + 8, with: $0) }
        return bytes
    }

    /// Joins the chat as a front end of a daemon.
    private static func join(_ daemon: DaemonStage, opens: Bool) async throws -> RawFrontEnd {
        let frontEnd = try RawFrontEnd(daemon)
        frontEnd.write(#"{"do":"join","invite":"\#(invite)","keep":true,"open":\#(opens),"id":1}"# + "\n")
        #expect(frontEnd.lines(until: #""on":"ok""#).last?.contains(#""on":"ok""#) == true)
        return frontEnd
    }

    /// Returns the lines with a message, up to the one with this text.
    private static func messages(_ frontEnd: RawFrontEnd, until text: String) -> [String] {
        frontEnd.lines(until: #""text":"\#(text)""#).filter { $0.hasPrefix(#"{"on":"message""#) }
    }

    // M-80, A-65
    @Test("a text whose member gives 2^64 − 1 as its time is shown, and shown again after a restart")
    func hostileMember() async throws {
        let (alices, bobs) = (try TemporaryFolder(), try TemporaryFolder())
        let bob = try await TextNode("Bob", in: bobs)
        let daemon = try await bob.daemon()
        let identity = try await bob.identity
        let frontEnd = try await Self.join(daemon, opens: false)
        // The member's node sends what waits on its disk with the ID that it finds there.
        let waiting = WaitingText(
            entry: 1, key: identity.key, name: "Bob", id: TextID(run: 5, number: 1, written: .max),
            at: Node.wallClock(), text: "boo")
        try Self.write([TextRecord.waiting(waiting).bytes], in: alices)
        let alice = try await TextNode("Alice", in: alices, peers: [identity.port])
        try await alice.join()
        let line = try #require(Self.messages(frontEnd, until: "boo").last)
        #expect(line.contains(#""written":\#(Self.latest)"#), "\(line)")
        try await alice.stop()
        try await daemon.end()
        try await bob.idle()

        let again = try await TextNode("Bob", in: bobs)
        let second = try await again.daemon()
        let shown = try #require(Self.messages(try await Self.join(second, opens: true), until: "boo").last)
        #expect(shown.contains(#""unread":true"#) && shown.contains(#""written":\#(Self.latest)"#), "\(shown)")
        try await second.end()
        try await again.idle()
    }

    // A-67
    @Test("a daemon starts over texts with numbers and times that no node writes")
    func poisonedStore() async throws {
        let folder = try TemporaryFolder()
        let key = KeyPair(using: &Self.random).publicKey
        let times = [-Double.infinity, -1e300, -1, 0, 1e300, .infinity, .nan]
        var records = [TextRecord.highestEntry(.max).bytes]
        for (index, time) in times.enumerated() {
            let id = TextID(run: UInt64(index), number: .max, written: .max - UInt64(index))
            let received = KeptText(key: key, name: "Eve", id: id, at: 0, text: "boo \(index)")
            records.append(Self.bytes(.received(received), at: time))
            let entries: [UInt64] = [0, (1 << 53) - 1, 1 << 53, .max]
            for (place, entry) in entries.enumerated() {
                let waiting = TextID(run: UInt64(10 * index + place), number: .max, written: .max)
                let text = WaitingText(entry: entry, key: key, name: "Eve", id: waiting, at: 0, text: "\(place)")
                records.append(Self.bytes(.waiting(text), at: time))
            }
        }
        try Self.write(records, in: folder)
        let node = try await TextNode("Bob", in: folder)
        let daemon = try await node.daemon()
        let frontEnd = try await Self.join(daemon, opens: true)
        let shown = Self.messages(frontEnd, until: "boo \(times.count - 1)")
        #expect(shown.count == times.count)
        for line in shown { #expect(line.contains(#""written":\#(Self.latest)"#), "\(line)") }
        frontEnd.write(#"{"do":"waiting"}"# + "\n")
        let waiting = frontEnd.lines(until: #""on":"waiting""#).last
        #expect(waiting?.contains(#""entry":9007199254740991"#) == true, "\(waiting ?? "")")
        #expect(waiting?.contains("9007199254740992") == false, "no request can name this entry")
        try await daemon.end()
        try await node.idle()
    }

    @Test("an integer of a line that a reader of JSON could round is none, so that no sum of such integers traps")
    func integers() throws {
        for (digits, value) in [
            ("9007199254740991", 9_007_199_254_740_991), ("-9007199254740991", -9_007_199_254_740_991),
            ("9007199254740992", nil), ("9223372036854775807", nil), ("-9223372036854775808", nil),
        ] as [(String, Int?)] {
            #expect(try JSONMembers(Array(#"{"to":\#(digits)}"#.utf8)).number("to") == value, "\(digits)")
        }
    }

    private nonisolated(unsafe) static var random = SystemRandomNumberGenerator()
}
