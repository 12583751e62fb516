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
        case file(MovesFile)
        case unusable(reason: String)
    }

    /// A change that counts when it is on disk.
    struct Change {
        /// Makes the change, perhaps again if the moves changed meanwhile. The result follows the write, and returns
        /// whether the node keeps the change.
        let make: (isolated Node, inout Moves) throws(NodeError) -> (isolated Node) -> Bool
        /// Called if the change was not made.
        let failed: (isolated Node, NodeError) -> Void
    }

    var moves = Moves() {
        didSet { version += 1 }
    }
    /// The number of changes of `moves`.
    private(set) var version = 0
    var storage = Storage.memory
    /// The departed chats of the protocol, the oldest first.
    var departed: [DepartedChat] = []
    /// The changes that are not on disk yet. The node writes the first one.
    var changes = CircularBuffer<Change>()
    var isWriting = false
    /// Newcomers that wait for the notice of a move; nil while there is no move.
    var newcomers: [(ChatID, PublicKey)]?
    /// The timer that ends the next departure.
    var timer: Scheduled<Void>?
}

/// The writes of a node's moves. A change of the user's counts when it is on disk.
extension Node {
    /// Makes a change and writes it, after the changes before. ``Moving/Change`` describes the arguments.
    func change(
        _ make: @escaping (isolated Node, inout Moves) throws(NodeError) -> (isolated Node) -> Bool,
        failed: @escaping (isolated Node, NodeError) -> Void
    ) {
        moving.changes.append(Moving.Change(make: make, failed: failed))
        writeMoves()
    }

    /// Writes the moves, which changed already.
    func keepMoves() {
        if case .unusable = moving.storage { return }
        change { _, _ throws(NodeError) in
            { _ in true }
        } failed: { node, error in
            guard case .notKept(let reason) = error, case .file(let file) = node.moving.storage else { return }
            node.tell(.notice(.movesUnusable(file: file.path, reason: reason)))
        }
    }

    /// Calls back when all changes so far are on disk, or failed.
    func afterMoves(_ completion: @escaping @Sendable () -> Void) {
        guard !moving.changes.isEmpty else { return completion() }
        let completed: (isolated Node) -> Bool = { _ in
            completion()
            return true
        }
        change { _, _ throws(NodeError) in
            completed
        } failed: { _, _ in
            completion()
        }
    }

    private func writeMoves() {
        guard !moving.isWriting, let change = moving.changes.first else { return }
        var next = moving.moves
        let follow: (isolated Node) -> Bool
        do throws(NodeError) {
            follow = try change.make(self, &next)
        } catch {
            moving.changes.removeFirst()
            change.failed(self, error)
            return writeMoves()
        }
        let (before, version) = (moving.moves, moving.version)
        moving.isWriting = true
        write(next) { node, reason in
            node.moving.isWriting = false
            if let reason {
                node.moving.changes.removeFirst()
                change.failed(node, .notKept(reason))
            } else if version == node.moving.version {
                node.moving.changes.removeFirst()
                if next != before { node.moving.moves = next }
                if !follow(node) {
                    node.moving.moves = before
                    node.keepMoves()
                }
            }
            // Otherwise the moves changed during the write, so the node makes the change again.
            node.writeMoves()
        }
    }

    private func write(_ moves: Moves, _ completion: @escaping (isolated Node, String?) -> Void) {
        switch moving.storage {
        case .memory: completion(self, nil)
        case .unusable(let reason): completion(self, reason)
        case .file(let file):
            let completion = NIOLoopBound(completion, eventLoop: eventLoop)
            worker.run(on: eventLoop) { file.write(moves) }.whenSuccess { [self] reason in
                assumeIsolated { completion.value($0, reason) }
            }
        }
    }
}
