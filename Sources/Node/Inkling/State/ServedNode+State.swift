import InklingModel
import NIOCore

/// The chats and names that a service keeps in the state directory of its node.
extension ServedNode {
    /// The kept chats at the start, each in its newest place. The last run may not have written a move.
    package var kept: KeptChats {
        node.onLoop { node in
            let stored = node.state.kept
            var chats = stored.chats.compactMap { node.present($0) }
            // Two chats may have become one. Then the chat stays that was kept as what it is now.
            var places = Set(stored.chats.map(\.keys))
            chats.removeAll { !stored.chats.contains($0) && !places.insert($0.keys).inserted }
            return KeptChats(chats, holds: stored.holds)
        }
    }

    /// The names that chats have had.
    package var chatNames: ChatNames { node.onLoop { $0.state.names } }

    /// Why names may be missing from ``chatNames``, as a clause; nil if all are there.
    package var chatNamesFault: String? { node.onLoop { $0.state.namesFault } }

    /// Whether the node keeps anything for later runs.
    package var keepsState: Bool { node.onLoop { $0.state.thread != nil } }

    /// The logs of chats that the user left in an earlier run, and which may not have ended.
    package var endingLogs: [String] { node.onLoop { $0.state.ending } }

    /// Records that logs have ended.
    package func finishLogs(_ ids: [String]) { node.onLoop { node in for id in ids { node.removeEnding(of: id) } } }

    /// Writes the kept chats. ``Node/keep(_:leaving:_:)`` describes the arguments.
    package func keep(_ chats: KeptChats, leaving left: Chat?, _ completion: @escaping (String?) -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: node.eventLoop)
        node.onLoop { $0.keep(chats, leaving: left) { completion.value($0) } }
    }

    /// Records that the logs of a left chat have ended, if they have. ``Node/finishLeaving(_:)`` describes the rest.
    package func finishLeaving(_ chat: Chat) { node.onLoop { $0.finishLeaving(chat) } }

    /// Keeps the name of a chat. The argument of `completion` is nil, or the reason for the failure.
    package func remember(_ chat: Chat, _ completion: @escaping (String?) -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: node.eventLoop)
        node.onLoop { $0.remember(chat) { completion.value($0) } }
    }
}
