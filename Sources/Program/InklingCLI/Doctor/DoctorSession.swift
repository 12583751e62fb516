import Inkling
import InklingModel
import NIOCore
import NIOPosix

/// Looks for a while who is in a chat, who is announced in it, and who in others.
final class DoctorSession: CommandSession {
    /// How long it looks, in milliseconds.
    private static let duration: Int64 = 4_000
    /// When it measures the round trips, from the beginning.
    private static let measuring: Int64 = 3_000

    let host: SessionHost
    private let looksElsewhere: Bool
    private let began: Int64
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private var phase = Phase.looking
    /// Everybody who is announced, in whatever chat; nil while they are looked for.
    private var announced: [String: String?]?
    private var people: [Peer]?
    private var known: [KnownPeer]?
    private var sightings: (own: String?, found: [Sighting])?
    private(set) var result: Result<Sights, NodeError>?

    /// What it saw at the end.
    struct Sights {
        /// Who the node is.
        var identity: NodeIdentity
        /// Who is in the chat, or was met there before, by name.
        var people: [Peer]
        /// Who was met anywhere.
        var known: [KnownPeer]
        /// Who is announced in the chat.
        var sightings: [Sighting]
        /// How many are announced in other chats, on other machines.
        var elsewhere: Int
    }

    private enum Phase {
        case looking
        /// The round trips are being measured.
        case measuring
        /// What was asked for is still to come.
        case asking
        case over
    }

    /// - Parameter looksElsewhere: whether announcements can be looked for.
    init(_ host: SessionHost, looksElsewhere: Bool) {
        self.host = host
        self.looksElsewhere = looksElsewhere
        began = host.now.steady
    }

    private var chat: String { host.settings.chat.name }

    /// The doctor has its own way of saying it.
    func take(notice: String) {}

    func begin() {
        if !host.isAttached { host.node?.ask(.setAway(true)) }
        host.node?.ask(host.settings.join)
    }

    // MARK: What it finds

    func take(_ output: ServiceOutput) {
        switch output {
        case .answer(.failed(let error), to: .join): end(.failure(error))
        case .answer(.joined, to: .join): lookElsewhere()
        case .answer(.peers(let peers), to: .peers): people = peers
        case .answer(.knownPeers(let peers), to: .knownPeers): known = peers
        case .answer(.failed, to: .knownPeers): known = []
        case .answer(.sightings(let own, let found), to: .sightings):
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
        // It waits, which keeps the node from nothing there.
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
        // Other chats of this machine say nothing of others.
        let here = sightings.own.flatMap { announced[$0] ?? nil }
        let elsewhere = announced.filter { !inChat.contains($0.key) && (here == nil || $0.value != here) }
        end(
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
            host.node?.ask(.knownPeers)
            host.node?.ask(.sightings(chat: chat))
        case .asking, .over: break
        }
    }

    // MARK: The end

    private func end(_ result: Result<Sights, NodeError>) {
        phase = .over
        self.result = result
        host.end(status: 0)
    }

    func abandon() { phase = .over }
}
