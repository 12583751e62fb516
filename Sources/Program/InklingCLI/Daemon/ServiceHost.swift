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
    ///   - shutDown: called when a front end asks for the end.
    init(
        _ node: ServedNode, level: Service.Level, in directory: String?, settledName: String?,
        announcesAbsence: Bool = false, on loop: any EventLoop, _ logger: Logger, shutDown: @escaping () -> Void
    ) {
        self.node = node
        self.directory = directory
        self.loop = loop
        // A node that leaves no trace reads the state of the directory, and writes nothing there.
        let isEphemeral = !node.keepsState && node.temporary == nil
        let other = isEphemeral ? directory.map { StateTables(in: $0, isHeld: false) } : nil
        let kept = other?.contents.chats ?? node.kept
        let names = NameKeeper(
            settledName: settledName, fault: other.map(\.namesFault) ?? node.chatNamesFault,
            keep: node.keepsState ? { [unowned node] in node.remember($0, $1) } : nil,
            names: { [unowned node] in other?.contents.names ?? node.chatNames })
        var texts = UnreadTexts()
        if level != .driven, let directory {
            let database = TextDatabase(
                in: directory, merging: MessageHistory.merging, on: loop, threads: .alone())
            self.database = database
            if !node.endingLogs.isEmpty { node.finishLogs(database.end(node.endingLogs)) }
            let history = MessageHistory(database) { [unowned node] in node.logID(of: $0) }
            self.history = history
            node.setHasHistory { [unowned history] in history.has($0) }
            node.keepTexts(in: StoredTexts(database, standings: node.standings), holds: kept.holds)
            texts = UnreadTexts(
                restored: { [unowned node] in node.takeRestoredTexts(in: $0) },
                read: { [unowned node] in node.readTexts($0, in: $1) },
                forgetSwitch: { [unowned node] in node.forgetHold($0) }, fault: { [unowned node] in node.textFault })
        }
        service = Service(
            node, level: level, kept: kept.chats, holds: kept.holds, announcesAbsence: announcesAbsence,
            counts: ServedNode.countsAsTyping,
            Service.Surroundings(
                steady: { Clock.steady }, awake: { Clock.awake }, wall: { Clock.wall },
                keep: { [unowned node] chats, left, completion in
                    // The service expects the answer after its request has returned.
                    node.keep(chats, leaving: left) { reason in
                        loop.assumeIsolated().execute {
                            completion(reason.map { "\($0), so this can't be kept. Remove the cause, and try again." })
                        }
                    }
                },
                finishLeaving: { [unowned node, database] in
                    if database?.hasAllKeys ?? true { node.finishLeaving($0) }
                },
                keepName: RememberedName.keeper(in: directory, on: loop),
                refusal: { names.refusal(of: $0, isConfirmed: $1, isKept: $2, $3) },
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
            if let database { database.whenIdle(completion) } else { completion() }
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
