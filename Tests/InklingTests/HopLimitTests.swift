import Foundation
import Glibc
import Inkling
import InklingCore
import InklingWire
import Testing

@Suite("Hop limits of what arrives", .serialized, .timeLimit(.minutes(1)))
struct HopLimitTests {
    /// The address that a node is bound to, nil for all, and the family of a datagram to it.
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
        let expected: [(hopLimit: CInt, response: Int?, retry: Int?)] = [
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

    private static func initiation(in chat: ChatKeys, to remote: PublicKey) throws -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let pending = try PendingHandshake(
            chat: chat, identity: KeyPair(using: &random), ephemeral: KeyPair(using: &random), remote: remote,
            senderIndex: .random(in: 1 ... .max), own: RunAndEpoch(run: .random(in: 0 ... .max), epoch: 1))
        return Datagram.initiation(pending.initiation).encode()
    }

    private static func send(_ bytes: [UInt8], to port: UInt16, _ hopLimit: CInt, isIPv4: Bool) throws {
        let descriptor = socket(isIPv4 ? AF_INET : AF_INET6, CInt(SOCK_DGRAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var hops = hopLimit
        let (level, option) = isIPv4 ? (CInt(IPPROTO_IP), IP_TTL) : (CInt(IPPROTO_IPV6), IPV6_UNICAST_HOPS)
        try #require(setsockopt(descriptor, level, option, &hops, socklen_t(MemoryLayout<CInt>.size)) == 0)
        let sent: Int
        if isIPv4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            sent = Self.send(bytes, on: descriptor, to: name)
        } else {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = port.bigEndian
            name.sin6_addr = in6addr_loopback
            sent = Self.send(bytes, on: descriptor, to: name)
        }
        try #require(sent == bytes.count)
    }

    private static func send<Name>(_ bytes: [UInt8], on descriptor: CInt, to name: Name) -> Int {
        withUnsafeBytes(of: name) { name in
            name.withMemoryRebound(to: sockaddr.self) {
                sendto(descriptor, bytes, bytes.count, 0, $0.baseAddress, socklen_t(name.count))
            }
        }
    }
}
