import Inkling
import InklingCore
import InklingWire
import ProcessSupport
import Testing

@Suite("Hop limits of what arrives", .serialized, .timeLimit(.minutes(1)))
struct HopLimitTests {
    /// The address to which a node is bound, nil for all, and the family of a datagram to it.
    struct Way: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bind: String?
        let isIPv4: Bool

        static let all = [
            Way(testDescription: "IPv4", bind: "127.0.0.1", isIPv4: true),
            Way(testDescription: "IPv4 at a socket for both families", bind: nil, isIPv4: true),
            Way(testDescription: "IPv6", bind: nil, isIPv4: false),
        ]
    }

    // L-92
    @Test("an initiation that passed a router needs a cookie, and one from the link does not", arguments: Way.all)
    func initiations(_ way: Way) async throws {
        let node = try await NodeTests.node("Alice") { $0.bindAddress = way.bind }
        let remote = node.key
        let chat = try Chat("lobby").keys
        let expected: [(hopLimit: Int, response: Int?, retry: Int?)] = [
            (255, 1, nil), (64, 1, 1), (254, 1, 2), (255, 2, 2),
        ]
        for (hopLimit, responses, retries) in expected {
            try Self.send(try Self.initiation(in: chat, to: remote), to: node.port, hopLimit, isIPv4: way.isIPv4)
            var sent: [Statistics.SentKind: Int] = [:]
            for _ in 0..<200 {
                sent = await node.statistics().datagramsSent
                if sent[.response] == responses, sent[.retry] == retries { break }
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(sent[.response] == responses && sent[.retry] == retries, "hop limit \(hopLimit): \(sent)")
        }
        await node.stop()
    }

    @Test("datagrams without bytes are no end of the socket", arguments: Way.all)
    func empty(_ way: Way) async throws {
        let node = try await NodeTests.node("Alice") { $0.bindAddress = way.bind }
        let initiation = try Self.initiation(in: Chat("lobby").keys, to: node.key)
        for bytes in [[], [], initiation] { try Self.send(bytes, to: node.port, 255, isIPv4: way.isIPv4) }
        try Self.send([], to: node.port, 255, isIPv4: way.isIPv4)
        for _ in 0..<200 where await node.statistics().datagramsSent[.response] != 1 {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(await node.statistics().datagramsSent[.response] == 1)
        await node.stop()
    }

    private static func initiation(in chat: ChatKeys, to remote: PublicKey) throws -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let pending = try PendingHandshake(
            chat: chat, identity: KeyPair(using: &random), ephemeral: KeyPair(using: &random), remote: remote,
            senderIndex: .random(in: 1 ... .max), own: RunAndEpoch(run: .random(in: 0 ... .max), epoch: 1))
        return Datagram.initiation(pending.initiation).encode()
    }

    private static func send(_ bytes: [UInt8], to port: UInt16, _ hopLimit: Int, isIPv4: Bool) throws {
        let socket = try UDPSocket(.loopback(isIPv4: isIPv4))
        socket.setHopLimit(hopLimit)
        try #require(socket.send(bytes, to: .loopback(isIPv4: isIPv4, port: port)))
    }
}
