import InklingModel
import NIOCore

/// A request whose answer waits until a move is on disk.
enum ServiceMove: Sendable {
    case move(chat: String, keys: [PublicKey], removed: [PublicKey], owner: PublicKey?)
    case admit(chat: String, key: PublicKey)

    /// Nil for another request.
    init?(_ request: ServiceRequest) {
        switch request {
        case .move(let chat, let keys, let removed, let owner):
            self = .move(chat: chat, keys: keys, removed: removed, owner: owner)
        case .admit(let chat, let key): self = .admit(chat: chat, key: key)
        default: return nil
        }
    }
}

extension Node {
    /// Performs a request.
    ///
    /// - Parameter completion: Called with the answer on the event loop, before the events of the move.
    func perform(_ request: ServiceMove, completion: @escaping @Sendable (ServiceAnswer) -> Void) {
        switch request {
        case .move(let chat, let keys, let removed, let owner):
            move(chat, choosing: keys, removing: removed, owner: owner) { result in
                switch result {
                case .success(let chat): completion(.moved(chat))
                case .failure(let error): completion(.failed(error))
                }
            }
        case .admit(let chat, let key):
            admit(key, to: chat) { result in
                switch result {
                case .success: completion(.done)
                case .failure(let error): completion(.failed(error))
                }
            }
        }
    }
}

extension ServedNode {
    /// Returns the chat in which the node would be now in place of a chat; nil if the user has left it.
    package func present(_ chat: Chat) -> Chat? { node.onLoop { $0.present(chat) } }

    /// Returns the ID of a chat's history.
    package func logID(of chat: Chat) -> String { node.onLoop { $0.logID(of: chat) } }

    /// Makes the node ask whether a history with an ID is on disk. A chat that moves then continues no other one.
    package func setHasHistory(_ hasHistory: @escaping (String) -> Bool) {
        let hasHistory = NIOLoopBound(hasHistory, eventLoop: node.eventLoop)
        node.onLoop { $0.moving.hasHistory = hasHistory }
    }
}
