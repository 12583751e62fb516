import InklingWire
import NIOCore
import Testing

@testable import InklingWeb

/// Random bytes as a test wants them: each number becomes one byte.
private struct Bytes: RandomNumberGenerator {
    var bytes: [UInt8]

    mutating func next() -> UInt64 { bytes.isEmpty ? 0 : UInt64(bytes.removeFirst()) }
}

@Suite("Tickets and session keys")
struct KeyTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000)

    // The proofs are from Python's hmac and hashlib.
    @Test("the proofs are HMAC-SHA-256 over the label, a zero and both nonces")
    func vector() {
        var keys = WebKeys()
        var random = Bytes(bytes: Array(0..<32) + [UInt8](repeating: 0x55, count: 32))
        let ticket = keys.addTicket(until: start + .seconds(60), using: &random)
        #expect(ticket == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
        var handshake = Handshake()
        let hello =
            #"{"web":1,"key":"ticket","id":"8bc09e0888ef575a","nonce":"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo"}"#
        guard case .reply(let answer) = handshake.receive(Array(hello.utf8), keys, at: start, using: &random) else {
            Issue.record("no reply")
            return
        }
        #expect(
            answer == #"{"web":1,"nonce":"VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVU","#
                + #""proof":"8C0aoEEyEpyoyGG1NtJrgnxLoCHQnYPamx7p090t2ds"}"#)
        let proof = #"{"proof":"nT9oN_MzSmd2etoTYvLZWq90_phehT0PlvU7jU9M-eA"}"#
        guard
            case .proved(.ticket, "8bc09e0888ef575a") = handshake.receive(
                Array(proof.utf8), keys, at: start, using: &random)
        else {
            Issue.record("the proof is refused")
            return
        }
    }

    @Test("a ticket is valid until its end, and once")
    func ticket() throws {
        var (keys, random) = (WebKeys(), SystemRandomNumberGenerator())
        let id = try id(keys.addTicket(until: start + .seconds(60), using: &random))
        #expect(word(keys.find(.ticket, id, at: start + .seconds(60) - .nanoseconds(1))) == "key")
        #expect(word(keys.find(.ticket, id, at: start + .seconds(60))) == "expired")
        #expect(word(keys.find(.session, id, at: start)) == "unknown")
        _ = keys.openPage(ticket: id, using: &random)
        #expect(word(keys.find(.ticket, id, at: start)) == "used")
        #expect(word(keys.find(.ticket, id, at: start + .seconds(61))) == "used")
    }

    @Test("the oldest of 65 tickets is forgotten")
    func manyTickets() throws {
        var (keys, random) = (WebKeys(), SystemRandomNumberGenerator())
        let ids = try (0..<65).map { _ in try id(keys.addTicket(until: start + .seconds(60), using: &random)) }
        #expect(word(keys.find(.ticket, ids[0], at: start)) == "unknown")
        for id in ids.dropFirst() { #expect(word(keys.find(.ticket, id, at: start)) == "key") }
    }

    @Test("of 33 session keys, the one that no page has used for the longest time is forgotten")
    func manySessions() throws {
        var (keys, random) = (WebKeys(), SystemRandomNumberGenerator())
        func open() throws -> String {
            let ticket = try id(keys.addTicket(until: start + .seconds(60), using: &random))
            return keys.openPage(ticket: ticket, using: &random).0
        }
        let ids = try (0..<32).map { _ in try open() }
        // The first one has an open page, and the second one was used again.
        for id in ids.dropFirst() { keys.closePage(session: id) }
        keys.openPage(session: ids[1])
        keys.closePage(session: ids[1])
        _ = try open()
        #expect(word(keys.find(.session, ids[2], at: start)) == "unknown")
        for id in ids.dropFirst(3) + ids.prefix(2) { #expect(word(keys.find(.session, id, at: start)) == "key") }
    }

    private func id(_ ticket: String) throws -> String {
        WebKeys.id(of: try TextEncoding.base64url.decode(ticket.utf8, count: 32))
    }

    private func word(_ found: WebKeys.Found) -> String {
        switch found {
        case .key: "key"
        case .unknown: "unknown"
        case .used: "used"
        case .expired: "expired"
        }
    }
}
