import Glibc
import InklingWire

/// The two friends: Bob, the victim, and Alice.
final class Friends {
    /// The longest time in which the friends find each other, in seconds.
    private static let patience = 20.0
    private static let chats = [BenchNetwork.secretChat, BenchNetwork.openChat]

    private let network: BenchNetwork
    private let program: String
    private let secret: ChatSecret
    /// The name of the state directories. Each pair has a new one, so that no friend knows people from an earlier
    /// attack.
    private let stateName: String
    private(set) var alice: Node
    let bob: Node

    /// Starts both friends with empty caches of discovery. Waits until each shows the other in both chats.
    init(on network: BenchNetwork, program: String, secret: ChatSecret) throws {
        self.network = network
        self.program = program
        self.secret = secret
        stateName = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        try network.restartDiscovery()
        alice = try Friends.makeAlice(network, program, secret, stateName)
        bob = try Node(
            "Bob", friend: "Alice", on: network.victim, program: program, secret: secret.base32,
            stateName: stateName, options: ["--without-interface", "eth1"])
        guard Friends.wait(seconds: Friends.patience, until: { self.areOnline(in: Friends.chats) }) else {
            end()
            throw AttackError("the friends don't find each other, without an attack")
        }
    }

    private static func makeAlice(
        _ network: BenchNetwork, _ program: String, _ secret: ChatSecret, _ stateName: String
    ) throws -> Node {
        try Node(
            "Alice", friend: "Bob", on: network.friend, program: program, secret: secret.base32, stateName: stateName)
    }

    var victim: SocketEndpoint { SocketEndpoint(address: network.victim.address, port: bob.port ?? 0) }
    var friend: SocketEndpoint { SocketEndpoint(address: network.friend.address, port: alice.port ?? 0) }
    var isAlive: Bool { alice.status == nil && bob.status == nil }

    func areOnline(in chats: [String]) -> Bool {
        alice.showsFriend(in: chats) && bob.showsFriend(in: chats)
    }

    /// Returns how often one friend has shown the other as offline since `begin`.
    func losses(since begin: Double) -> Int { alice.losses(since: begin) + bob.losses(since: begin) }

    /// Restarts Alice with the same identity. Returns the seconds until both friends show each other in the secret
    /// chat; nil if this takes longer than `limit`.
    func startAliceAgain(within limit: Double) throws -> Double? {
        alice.quit()
        _ = Friends.wait(seconds: 1) { !self.bob.showsFriend(in: [BenchNetwork.secretChat]) }
        let begin = monotonicSeconds()
        alice = try Friends.makeAlice(network, program, secret, stateName)
        let isOnline = Friends.wait(seconds: limit) { self.areOnline(in: [BenchNetwork.secretChat]) }
        return isOnline ? monotonicSeconds() - begin : nil
    }

    func end() {
        alice.quit()
        bob.quit()
    }

    private static func wait(seconds: Double, until isDone: () -> Bool) -> Bool {
        let deadline = monotonicSeconds() + seconds
        while !isDone() {
            guard monotonicSeconds() < deadline else { return false }
            rest(0.002)
        }
        return true
    }
}
