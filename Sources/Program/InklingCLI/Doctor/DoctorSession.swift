import Inkling
import InklingModel
import NIOCore
import NIOPosix

/// Looks for people in a chat, and for announcements in this chat and others, for ``duration``.
final class DoctorSession: CommandSession {
    /// The length of the search, in milliseconds.
    private static let duration: Int64 = 4_000
    /// The time from the beginning to the measurement of round trips, in milliseconds.
    private static let measuring: Int64 = 3_000

    let host: SessionHost
    private let looksElsewhere: Bool
    private let began: Int64
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private var phase = Phase.looking
    private var joinID: RequestID?
    private var knownID: RequestID?
    /// The announced nodes of all chats; nil during the search.
    private var announced: [String: String?]?
    private var people: [Peer]?
    private var known: [KnownPeer]?
    private var sightings: (own: String?, found: [Sighting])?
    private(set) var result: Result<Sights, NodeError>?

    /// The results of the search.
    struct Sights {
        /// The identity of the node.
        var identity: NodeIdentity
        /// The people in the chat or met there before, by name.
        var people: [Peer]
        /// The people met in any chat.
        var known: [KnownPeer]
        /// The nodes announced in the chat.
        var sightings: [Sighting]
        /// The number of nodes on other machines announced in other chats.
        var elsewhere: Int
    }

    private enum Phase {
        case looking
        /// The session waits for the round trips.
        case measuring
        /// The session waits for answers to its questions.
        case asking
        case over
    }

    /// Makes a session.
    ///
    /// - Parameter looksElsewhere: whether the session can look for announcements.
    init(_ host: SessionHost, looksElsewhere: Bool) {
        self.host = host
        self.looksElsewhere = looksElsewhere
        began = host.now.steady
    }

    private var chat: String { host.settings.chat.name }

    /// Does nothing, because the doctor prints findings instead of notices.
    func report(notice: String) {}

    func begin() {
        if !host.isAttached { host.node?.ask(.setAway(true)) }
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    // MARK: Results

    func receive(_ output: ServiceOutput) {
        switch output {
        case .answer(.failed(let error), to: joinID): finish(.failure(error))
        case .answer(.joined, _): lookElsewhere()
        case .answer(.peers(let peers), _): people = peers
        case .answer(.knownPeers(let peers), _): known = peers
        case .answer(.failed, to: knownID): known = []
        case .answer(.sightings(let own, let found), _):
            sightings = (own, found)
            conclude()
        case .event, .waited, .own, .user, .answer, .ended: break
        }
    }

    private func lookElsewhere() {
        guard looksElsewhere else {
            announced = [:]
            return
        }
        thread.start()
        // The search blocks, and must not stop the loop.
        thread.runIfActive(eventLoop: host.loop) { DiscoveryProbe.instances(within: .milliseconds(Self.duration)) }
            .assumeIsolated().whenComplete { [self] result in
                thread.shutdownGracefully { _ in }
                announced = (try? result.get()) ?? [:]
                conclude()
            }
    }

    private func conclude() {
        guard case .asking = phase, let people, let known, let sightings, let announced, let node = host.node else {
            return
        }
        let inChat = Set(sightings.found.map(\.instance) + [sightings.own].compactMap { $0 })
        // Other chats of this machine do not count.
        let here = sightings.own.flatMap { announced[$0] ?? nil }
        let elsewhere = announced.filter { !inChat.contains($0.key) && (here == nil || $0.value != here) }
        finish(
            .success(
                Sights(
                    identity: node.identity, people: people, known: known, sightings: sightings.found,
                    elsewhere: elsewhere.count)))
    }

    // MARK: Time

    var nextTick: Int64? {
        switch phase {
        case .looking: began + Self.measuring
        case .measuring: began + Self.duration
        case .asking, .over: nil
        }
    }

    func tick() {
        guard let time = nextTick, time <= host.now.steady else { return }
        switch phase {
        case .looking:
            phase = .measuring
            host.node?.ask(.measureRoundTrips(chat: chat))
        case .measuring:
            phase = .asking
            host.node?.ask(.peers(chat: chat))
            knownID = host.node?.nextRequestID
            host.node?.ask(.knownPeers)
            host.node?.ask(.sightings(chat: chat))
        case .asking, .over: break
        }
    }

    // MARK: End

    private func finish(_ result: Result<Sights, NodeError>) {
        phase = .over
        self.result = result
        host.finish(status: 0)
    }

    func abandon() { phase = .over }
}
