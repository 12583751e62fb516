import InklingCore
import InklingModel
import InklingWire
import NIOCore

/// A chat that the node departed from as its owner, as discovery and the protocol know it.
struct DepartedChat {
    let id: ChatID
    let keys: ChatKeys
    let name: String
}

/// The moves of a running node, and the changes on their way to the disk.
struct Moving {
    /// The place that keeps the moves.
    enum Storage {
        /// The identity is temporary, and so are the moves.
        case memory
        case folder(MovesFolder)
        case unusable(reason: String)
    }

    /// A change that counts when it is on disk. Its closures belong to the node.
    struct Change {
        /// Makes the change, perhaps again if the moves changed meanwhile. The result follows the write, and returns
        /// whether the node keeps the change.
        let make: (inout Moves) throws(NodeError) -> () -> Bool
        /// Called if the change was not made.
        let failed: (NodeError) -> Void
    }

    /// A change that the node is writing.
    struct Write {
        let change: Change
        let moves: Moves
        /// The number of changes of the moves before.
        let version: Int
        let follow: () -> Bool
    }

    var moves = Moves() {
        didSet { version += 1 }
    }
    /// The number of changes of `moves`.
    private(set) var version = 0
    var storage = Storage.memory
    /// The departed chats of the protocol, the oldest first.
    var departed: [DepartedChat] = []
    /// The changes that wait for the disk.
    var changes = CircularBuffer<Change>()
    var write: Write?
    /// Newcomers that wait for the notice of a move; nil while there is no move.
    var newcomers: [(ChatID, PublicKey)]?
    /// The timer that ends the next departure.
    var timer: Scheduled<Void>?
    /// Returns whether a history with this ID is on disk.
    var hasHistory: NIOLoopBound<(String) -> Bool>?
}

/// The writes of a node's moves. A change of the user's counts when it is on disk.
extension Node {
    /// Makes a change and writes it, after the changes before. ``Moving/Change`` describes the arguments.
    func change(
        _ make: @escaping (inout Moves) throws(NodeError) -> () -> Bool, failed: @escaping (NodeError) -> Void
    ) {
        moving.changes.append(Moving.Change(make: make, failed: failed))
        writeMoves()
    }

    /// Writes the moves, which changed already.
    func keepMoves() {
        if case .unusable = moving.storage { return }
        change { _ throws(NodeError) in
            { true }
        } failed: { error in
            self.reportUnkept(error)
        }
    }

    /// Reports that the disk does not have a change, which the node made all the same.
    func reportUnkept(_ error: NodeError) {
        guard case .notKept(let reason) = error, case .folder(let folder) = moving.storage else { return }
        tell(.notice(.movesUnusable(file: folder.path, reason: reason)))
    }

    /// Calls back when all changes so far are on disk, or failed.
    func afterMoves(_ completion: @escaping @Sendable () -> Void) {
        guard moving.write != nil || !moving.changes.isEmpty else { return completion() }
        change { _ throws(NodeError) in
            {
                completion()
                return true
            }
        } failed: { _ in
            completion()
        }
    }

    private func writeMoves() {
        while moving.write == nil, let change = moving.changes.popFirst() { begin(change) }
    }

    private func begin(_ change: Moving.Change) {
        var next = moving.moves
        let follow: () -> Bool
        do throws(NodeError) {
            follow = try change.make(&next)
        } catch {
            return change.failed(error)
        }
        moving.write = Moving.Write(change: change, moves: next, version: moving.version, follow: follow)
        switch moving.storage {
        case .memory: written(nil)
        case .unusable(let reason): written(reason)
        case .folder(let folder):
            worker.run(on: eventLoop) { [next] in folder.write(next) }.whenSuccess { [self] reason in
                onLoop { node in
                    node.written(reason)
                    node.writeMoves()
                }
            }
        }
    }

    /// Handles the end of a write.
    private func written(_ failure: String?) {
        guard let write = moving.write else { return }
        moving.write = nil
        if let failure { return write.change.failed(.notKept(failure)) }
        // If the moves changed during the write, the node makes the change again.
        guard write.version == moving.version else { return begin(write.change) }
        let before = moving.moves
        if write.moves != before { moving.moves = write.moves }
        guard !write.follow() else { return }
        moving.moves = before
        keepMoves()
    }
}
