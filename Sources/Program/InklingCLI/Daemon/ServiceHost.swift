import Inkling
import InklingService
import InklingModel
import InklingText
import Logging
import NIOCore
import NIOPosix

/// A node with its service, and with what it keeps in its state directory. A daemon and a prompt also have a socket for front
/// ends, histories and texts.
final class ServiceHost {
    let node: ServedNode
    let service: Service
    private let directory: String?
    private let loop: any EventLoop
    /// Nil for a driven node.
    private let server: ControlServer?
    private let store: KeptChatsStore
    private var history: MessageHistory?
    /// Nil for a driven node, and without a state directory.
    private var database: TextDatabase?

    /// The longest wait for the disk at the end.
    private static let longestWrite = TimeAmount.seconds(5)

    /// Prepares the service of a node that is in no chat yet. The caller begins the service.
    ///
    /// - Parameters:
    ///   - directory: the state directory; nil if there is none.
    ///   - settledName: the open chat that the settings name; nil if they name none.
    ///   - remembers: whether the node leaves a trace.
    ///   - shutDown: called when a front end asks for the end.
    init(
        _ node: ServedNode, level: Service.Level, in directory: String?, settledName: String?, remembers: Bool = true,
        announcesAbsence: Bool = false, on loop: any EventLoop, _ logger: Logger, shutDown: @escaping () -> Void
    ) {
        self.node = node
        self.directory = directory
        self.loop = loop
        let names = NameKeeper(in: directory, settledName: settledName, remembers: remembers)
        lazy var nameThreads = NIOThreadPool.alone()
        let store = KeptChatsStore(in: directory, isWritable: remembers && node.temporary == nil, on: loop, logger)
        self.store = store
        let kept = store.present(of: node)
        var texts = UnreadTexts()
        if level != .driven, let directory {
            let database = TextDatabase(
                in: directory, merging: MessageHistory.merging, on: loop, threads: .alone())
            self.database = database
            let history = MessageHistory(database) { [unowned node] in node.logID(of: $0) }
            self.history = history
            node.setHasHistory { [unowned history] in history.has($0) }
            node.keepTexts(in: StoredTexts(database, standings: node.standings), holds: kept.holds)
            texts = UnreadTexts(
                restored: { [unowned node] in node.takeRestoredTexts(in: $0) },
                read: { [unowned node] in node.readTexts($0, in: $1) },
                forgetSwitch: { [unowned node] in node.forgetHold($0) })
        }
        service = Service(
            node, level: level, kept: kept.chats, holds: kept.holds, announcesAbsence: announcesAbsence,
            counts: ServedNode.countsAsTyping,
            Service.Surroundings(
                steady: { Clock.steady }, awake: { Clock.awake }, wall: { Clock.wall },
                keep: { store.keep(KeptChats($0, holds: $1), completion: $2) },
                keepName: RememberedName.keeper(in: directory, on: loop),
                refusal: { names.refusal(of: $0, isConfirmed: $1, on: loop, threads: nameThreads, $2) },
                rank: { [unowned node] in node.rank(of: $0, in: $1) },
                chat: { [unowned node] source, name throws(NodeError) in
                    let chats = try node.chats(of: source, named: name)
                    return chats.first { names.doubt(about: $0) == nil } ?? chats[chats.count - 1]
                },
                present: { [unowned node] in node.present($0) }, shutDown: shutDown, history: history, texts: texts))
        server =
            level == .driven
            ? nil
            : ControlServer(
                service, state: directory.flatMap { DaemonConnection.state(of: $0) } ?? "",
                texts: JSONTexts(indicator: .standard), on: loop, steady: { Clock.steady },
                report: { logger.notice("\($0)") })
        service.stopNode = { [self] in stop($0) }
        ProgramMemory.settle(on: loop)
    }

    /// Accepts front ends.
    ///
    /// - Parameter completion: called on the loop with the error, or nil.
    func listen(on socket: ListeningSocket, at path: String, completion: @escaping ((any Error)?) -> Void) {
        server?.listen(on: socket) { [directory] error in
            if error == nil, let directory { SocketSignpost.put(in: directory, to: path) }
            completion(error)
        }
    }

    /// Says goodbye to all peers, and ends when front ends know of that and everything is written.
    func stop(_ completion: @escaping () -> Void) {
        let written = { [self] in
            store.whenIdle { [self] in
                if let database { database.whenIdle(completion) } else { completion() }
            }
        }
        if let server {
            service.willEnd()
            if let directory { SocketSignpost.remove(from: directory) }
            server.stopListening()
        }
        node.stop { [self] in
            // Front ends get the answers that wait for the disk.
            let patience = loop.assumeIsolated().scheduleTask(in: Self.longestWrite) { [self] in service.giveUp() }
            service.whenAnswered { [self] in
                patience.cancel()
                if let server { server.close(written) } else { written() }
            }
        }
    }
}

/// The list of kept chats in a state directory.
final class KeptChatsStore {
    /// The file; nil without a state directory.
    private let file: KeptChatsFile?
    private let path: String
    private let isWritable: Bool
    private let loop: any EventLoop
    private let logger: Logger
    private var writer: KeptChatsWriter?
    /// Whether the list can be used.
    private var mayKeep = true

    init(in directory: String?, isWritable: Bool, on loop: any EventLoop, _ logger: Logger) {
        file = directory.map { KeptChatsFile(in: $0) }
        path = "\(directory ?? "")/\(KeptChatsFile.name)"
        self.isWritable = isWritable
        self.loop = loop
        self.logger = logger
    }

    /// Writes the list.
    ///
    /// - Parameter completion: called on the loop: with nil when the list is on disk, else with the reason and the
    ///   remedy.
    func keep(_ kept: KeptChats, completion: @escaping (String?) -> Void) {
        guard let file, isWritable else { return completion(nil) }
        guard mayKeep else {
            logger.error("the list of chats to stay in is left as it is, and forgets this change")
            // The service expects the answer after its request has returned.
            return loop.assumeIsolated().execute { [path] in
                completion(
                    "\(path) can't be used, so no chat can be kept. Repair or remove it, and start Inkling again.")
            }
        }
        let writer = self.writer ?? KeptChatsWriter(file, on: loop, threads: .alone())
        self.writer = writer
        writer.write(kept.chats, holds: kept.holds) { [logger, path] reason in
            if let reason { logger.error("the list of chats to stay in can't be written: \(reason)") }
            completion(reason.map { "\(path) can't be written: \($0). Make room for it, and try again." })
        }
    }

    /// Returns the kept chats, each in its newest place. The last run may have ended before it wrote a move here.
    func present(of node: ServedNode) -> KeptChats {
        let stored = stored
        var chats = stored.chats.compactMap { node.present($0) }
        // Two chats may have become one. Then the chat stays that was kept as what it is now.
        var places = Set(stored.chats.map(\.keys))
        chats.removeAll { !stored.chats.contains($0) && !places.insert($0.keys).inserted }
        let present = KeptChats(chats, holds: stored.holds)
        if present != stored { keep(present) { _ in } }
        return present
    }

    /// Calls back when no write is left.
    func whenIdle(_ completion: @escaping () -> Void) {
        guard let writer else { return completion() }
        writer.whenIdle(completion)
    }

    private var stored: KeptChats {
        switch file?.read() {
        case nil, .missing: return KeptChats()
        case .chats(let chats, let holds): return KeptChats(chats, holds: holds)
        case .damaged:
            mayKeep = false
            logger.error("the list of chats to stay in is damaged, and is not used; repair or remove it")
        case .newer:
            mayKeep = false
            logger.error("the list of chats to stay in is of a later version, and is not used")
        case .unreadable(let reason):
            mayKeep = false
            logger.error("the list of chats to stay in can't be read: \(reason)")
        }
        return KeptChats()
    }
}
