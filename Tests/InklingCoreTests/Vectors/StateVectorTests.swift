import InklingWire
import Testing

@testable import InklingCore

/// The cases `states` of links.json: one link, beginning with its first session.
@Suite("Vectors of links")
struct StateVectorTests {
    struct File: Decodable, Sendable { let states: [VectorCase] }

    static let cases = VectorFile.read("links", as: File.self)?.states ?? []

    @Test("The file is read")
    func read() { #expect(Self.cases.count > 20) }

    @Test("A link", arguments: cases)
    func link(_ test: VectorCase) {
        var stage = LinkStage()
        let log = Log()
        log.id = stage.id
        stage.observe = { log.observe($0, $1) }
        log.observe(stage.endpoint, .zero)
        for input in test.inputs {
            stage.run(until: .ms(input.at))
            stage.receive((input.frames ?? []).compactMap { $0.frame(stage.pingTokens) }, counter: input.counter)
        }
        stage.run(until: .ms(test.until))
        let states = test.expect.compactMap { entry in entry.state.map { "\(entry.at) \($0)" } }
        #expect(log.states == states)
        let presences = test.expect.compactMap { entry in entry.presence.map { "\(entry.at) \($0)" } }
        #expect(stage.presences.map { "\($0.at.ms) \($0.presence.rawValue)" } == presences)
        let expected = test.expect.flatMap { entry in
            (entry.frames ?? []).compactMap { $0.frame(stage.pingTokens) }.compactMap { mark($0, entry.at) }
        }
        let seen = stage.seen.flatMap { datagram in datagram.frames.compactMap { mark($0, datagram.at.ms) } }
        #expect(seen.sorted() == expected.sorted())
    }

    /// Returns a short form of a frame that a vector lists: a ping, a pong, a bye or an "unheard" heartbeat. Returns
    /// nil for other frames.
    private func mark(_ frame: Frame, _ at: Int) -> String? {
        let text: String
        switch frame {
        case .ping(let token): text = "ping \(token)"
        case .pong(let token): text = "pong \(token)"
        case .bye: text = "bye"
        case .heartbeat(let heartbeat):
            guard heartbeat.status.isUnheard else { return nil }
            text = "unheard"
        case .typing, .record, .ack, .forward, .textID, .unknown: return nil
        }
        return "\(String(repeating: "0", count: 6 - "\(at)".count))\(at) \(text)"
    }

    /// A log of the changes of a link's state.
    final class Log {
        var id: LinkID?
        private(set) var states: [String] = []
        private var last = "down"

        func observe(_ endpoint: Endpoint, _ now: Instant) {
            guard let id else { return }
            let state =
                endpoint.links.find(id).map { $0.isDown ? "down" : $0.liveness.isSuspect ? "suspect" : "up" }
                ?? "forgotten"
            guard state != last else { return }
            last = state
            states.append("\(now.ms) \(state)")
        }
    }
}
