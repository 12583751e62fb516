import InklingWire

@testable import InklingCore

/// A private chat of node 0, with the nodes 1 and 2 as members, and what their daemons do.
struct OwnedChat {
    let lan = TestLAN()
    private static let secrets: [ChatSecret] = {
        var generator = Seeded(11)
        return (0..<8).map { _ in ChatSecret(using: &generator) }
    }()
    private static let seeds: [SuccessorSeed] = {
        var generator = Seeded(12)
        return (0..<24).map { _ in SuccessorSeed(using: &generator) }
    }()

    static func keys(_ number: Int, owner: Int = 0) -> ChatKeys {
        ChatKeys(secret: secrets[number], owner: World.key(owner))
    }

    static func successor(_ number: Int, owner: Int = 0, removed: [Int] = []) -> Successor {
        Successor(seed: seeds[number], owner: World.key(owner), removed: removed.map(World.key))
    }

    /// The chat of the invite.
    static let first = keys(0)
    static var chat: ChatID { first.id }

    /// - Parameter nodes: the nodes that are in the chat at first.
    init(nodes: [Int] = [0, 1, 2]) {
        for node in nodes { start(node) }
        list(nodes)
        lan.run(.seconds(3))
    }

    /// Starts a node in the chat of the invite.
    ///
    /// - Parameter owner: the owner, as the node believes.
    func start(_ node: Int, identity: Int? = nil, at address: Address? = nil, claiming owner: Int = 0) {
        lan.start(node, identity: identity, at: address, chats: [])
        join(node, Self.first, owner: owner)
    }

    func join(_ node: Int, _ keys: ChatKeys, owner: Int = 0, refusing: [Int] = []) {
        lan.with(node) {
            try? $0.join(
                keys, isSecret: true, owner: World.key(owner), refusing: Set(refusing.map(World.key)), now: $1)
        }
    }

    /// Makes discovery list nodes to each other.
    func list(_ nodes: [Int], in chat: ChatID = chat) {
        for node in nodes {
            for other in nodes where other != node { lan.list(node, to: other, in: chat) }
        }
    }

    func move(_ node: Int = 0, _ chat: ChatID = chat, by successor: Successor, chosen: [Int]) {
        lan.with(node) { try? $0.move(chat, by: successor, chosen: Set(chosen.map(World.key)), now: $1) }
    }

    /// Restores a departure, or changes its chosen keys.
    func depart(_ node: Int = 0, from chat: ChatID = chat, by successor: Successor, chosen: [Int]) {
        lan.with(node) { try? $0.depart(from: chat, by: successor, chosen: Set(chosen.map(World.key)), now: $1) }
    }

    // MARK: Observations

    func successors(at node: Int) -> [Successor] {
        lan.outputs(node).compactMap { if case .successor(_, _, let successor) = $0 { successor } else { nil } }
    }

    func others(at node: Int) -> [ChatID] {
        lan.outputs(node).compactMap { if case .otherSuccessor(let chat) = $0 { chat } else { nil } }
    }

    func newcomers(at node: Int) -> [PublicKey] {
        lan.outputs(node).compactMap { if case .newcomer(_, let key) = $0 { key } else { nil } }
    }

    func present(at node: Int, in chat: ChatID = chat) -> [PublicKey] {
        lan.nodes[node]?.endpoint.present(in: chat).map(\.person.key) ?? []
    }

    func linked(at node: Int, in chat: ChatID = chat) -> [PublicKey] {
        lan.nodes[node]?.endpoint.linkedKeys(in: chat) ?? []
    }
}
