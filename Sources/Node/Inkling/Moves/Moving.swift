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
    /// A change that counts when it is on disk. Its closures belong to the node.
    struct Change {
        /// Makes the change, perhaps again if the moves changed meanwhile.
        let make: (inout Moves) throws(NodeError) -> Outcome
        /// Called if the change was not made.
        let failed: (NodeError) -> Void
    }

    /// The result of a change.
    struct Outcome {
        /// The chat that takes another one's place, if there is one.
        var replacement: Replacement?
        /// Follows the write, and returns whether the node keeps the change.
        let follow: () -> Bool
    }

    /// A chat that takes the place of another one, for the user and for the people who move too.
    struct Replacement {
        let former: JoinedChat
        let next: Chat
        let moves: (PublicKey) -> Bool
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
    /// The departed chats of the protocol, the oldest first.
    var departed: [DepartedChat] = []
    /// The changes that wait for the disk.
    var changes = CircularBuffer<Change>()
    var write: Write?
    /// Whether the disk lacks a change that the node made all the same. The next write has it.
    var isUnkept = false
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
        _ make: @escaping (inout Moves) throws(NodeError) -> Moving.Outcome, failed: @escaping (NodeError) -> Void
    ) {
        moving.changes.append(Moving.Change(make: make, failed: failed))
        writeMoves()
    }

    /// Writes the moves, which changed already.
    func keepMoves() {
        guard state.refusal == nil else { return }
        change { _ throws(NodeError) in
            Moving.Outcome { true }
        } failed: { error in
            self.reportUnkept(error)
        }
    }

    /// Reports that the disk does not have a change, which the node made all the same.
    func reportUnkept(_ error: NodeError) {
        guard case .notKept(let reason) = error else { return }
        if !moving.isUnkept { tell(.notKept(reason: reason)) }
        moving.isUnkept = true
    }

    /// Calls back when all changes so far are on disk, or failed.
    func afterMoves(_ completion: @escaping @Sendable () -> Void) {
        guard moving.write != nil || !moving.changes.isEmpty else { return completion() }
        change { _ throws(NodeError) in
            Moving.Outcome {
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
        let outcome: Moving.Outcome
        do throws(NodeError) {
            outcome = try change.make(&next)
        } catch {
            return change.failed(error)
        }
        moving.write = Moving.Write(change: change, moves: next, version: moving.version, follow: outcome.follow)
        let replacement = outcome.replacement
        let people = replacement.map { carried($0) } ?? []
        let (former, place) = (replacement?.former.chat, replacement?.next)
        changeState { [next] tables throws(Database.Failure) in
            try tables.replace(.chain, by: next.records)
            for person in people { try tables.put(person.key, person) }
            if let former, let place { try tables.replace(former, by: place) }
        } _: { [self] reason in
            written(reason)
            writeMoves()
        }
    }

    /// Returns the people who move to another chat, as they will be then.
    private func carried(_ replacement: Moving.Replacement) -> [KnownPeers.Entry] {
        let (former, next) = (replacement.former, replacement.next)
        let keys = former.met.keys.filter(replacement.moves)
        var people = knownPeers
        people.carry(keys.sorted(), from: former.storedName, to: next.storedName)
        return keys.compactMap { people[$0] }
    }

    /// Handles the end of a write.
    private func written(_ failure: String?) {
        guard let write = moving.write else { return }
        moving.write = nil
        if let failure { return write.change.failed(.notKept(failure)) }
        moving.isUnkept = false
        // If the moves changed during the write, the node makes the change again.
        guard write.version == moving.version else { return begin(write.change) }
        let before = moving.moves
        if write.moves != before { moving.moves = write.moves }
        guard !write.follow() else { return }
        moving.moves = before
        keepMoves()
    }
}
