import InklingCore
import InklingWire

/// The checker of liveness: a node shows each present peer, and shows typing without a gap. Both rules hold after the
/// path between the two nodes has been whole for long enough. Nodes must also send the datagrams for both in time.
///
/// The checker ignores what nodes believe. A pair is *settled* when each node shows the other, after a second without
/// disturbance. In that second the path was whole in both directions.
final class LivenessChecker {
    /// The time for which the path must be whole before a rule applies.
    private static let settling = Duration.seconds(1)
    /// The time that links need to recover after a host moved or its node was stopped. Some links recover only by
    /// silence.
    private static let recovery = Duration.seconds(5)
    /// The time for which the checker keeps the times of handshakes.
    private static let remembrance = recovery + Limits.unconfirmedSession + .seconds(1)
    /// The time in which a node sends a heartbeat from its new address, and the other node follows it there (L-51).
    private static let following = Duration.milliseconds(1_500)
    /// The time in which two nodes that can exchange datagrams must show each other (L-5: initiations are less than 5 s
    /// apart).
    private static let meeting = Duration.milliseconds(6_500)
    /// Like ``meeting``, for friends during an attack after one of them has started.
    private static let meetingOfFriends = Duration.seconds(5)
    /// The time in which typing of a friend must show during an attack.
    static let typingOfFriends = Duration.milliseconds(200)

    /// The time in which a message of a verified friend must show during an attack.
    private static let messageOfFriends = Duration.seconds(5)

    /// A message that a verified friend sent during an attack.
    private struct Promise {
        let index: Int
        let sender: (host: Int, incarnation: Int)
        let viewer: (host: Int, incarnation: Int)
        let chat: Int
        let due: Instant
    }

    struct Sending {
        /// The times of the last typing frames, the newest last.
        var typing: [Instant] = []
        /// The time of the last datagram with a status.
        var status = Instant.zero
        /// The sender's idle interval at that time.
        var interval = Duration.zero
        /// The times of the last initiations and responses, the newest last.
        var handshakes: [Instant] = []
    }

    /// The heartbeats on one session.
    struct Beat {
        let at: Instant
        /// The time of the first heartbeat on the session.
        let first: Instant
        /// The idle interval of the node at that time.
        let interval: Duration
        /// Whether a record arrived at the same moment, which may have been the peer's first name (L-82).
        let mayNameLink: Bool
    }

    struct SessionID: Hashable {
        let sender: Int
        let index: UInt32
    }

    let hosts: [SimulatedHost]
    /// The identities with one device.
    let single: Set<Int>
    /// The datagrams on each path, at the index sender × hosts + receiver.
    var sendings: [Sending]
    var beats: [SessionID: Beat] = [:]
    /// The instances of other hosts that discovery has reported to a node, with the time of the report.
    private var introductions: [Introduction: (name: String, viewerIncarnation: Int, at: Instant)] = [:]

    /// The messages that must still show, in the order of their due times.
    private var promises: [Promise] = []

    /// Heartbeats at a wrong time. A heartbeat is right after all if its link went down at that moment (L-44).
    var suspicions: [(sender: Int, receiver: Int, at: Instant, text: String)] = []

    private struct Introduction: Hashable {
        let viewer: Int
        let host: Int
        let chat: Int
    }

    init(hosts: [SimulatedHost]) {
        self.hosts = hosts
        let devices = Dictionary(grouping: hosts, by: \.plan.identity)
        single = Set(devices.filter { $0.value.count == 1 }.keys)
        sendings = Array(repeating: Sending(), count: hosts.count * hosts.count)
    }

    // MARK: Inputs

    /// Records that discovery reported a host's instance to another host.
    func introduced(_ name: String, of host: Int, in chat: Int, to viewer: SimulatedHost, _ now: Instant) {
        let introduction = Introduction(viewer: viewer.index, host: host, chat: chat)
        if let before = introductions[introduction], before.name == name, before.viewerIncarnation == viewer.incarnation
        {
            return
        }
        introductions[introduction] = (name, viewer.incarnation, now)
    }

    /// Records a message that a verified friend must see in time during an attack.
    func sent(message index: Int, by sender: SimulatedHost, in chat: Int, _ simulation: Simulation) {
        guard simulation.isAttacked, simulation.adversary?.plan.standing == .verified else { return }
        for viewer in hosts where viewer.index != sender.index {
            guard settledSince(sender, viewer, in: chat, simulation) != nil else { continue }
            promises.append(
                Promise(
                    index: index, sender: (sender.index, sender.incarnation),
                    viewer: (viewer.index, viewer.incarnation), chat: chat,
                    due: simulation.now + LivenessChecker.messageOfFriends))
        }
    }

    /// Records that discovery no longer lists an instance, or that the viewer left the chat.
    func forgot(_ host: Int, in chat: Int, at viewer: Int) {
        introductions[Introduction(viewer: viewer, host: host, chat: chat)] = nil
    }

    /// Records a datagram from one node to another.
    ///
    /// - Parameter interval: The sender's idle interval.
    func sent(
        _ kind: DatagramKind, size: Int, by sender: Int, to receiver: Int, interval: Duration, _ now: Instant
    ) {
        let path = sender * hosts.count + receiver
        if kind.hasStatus(size: size) {
            sendings[path].status = now
            sendings[path].interval = interval
        }
        switch kind {
        case .typing:
            if sendings[path].typing.count > 23 { sendings[path].typing.removeFirst(8) }
            sendings[path].typing.append(now)
        case .initiation, .response:
            sendings[path].handshakes.removeAll { now - $0 > LivenessChecker.remembrance }
            sendings[path].handshakes.append(now)
        default: break
        }
    }

    /// Returns when a host last sent another host an initiation or a response.
    func lastHandshake(of sender: Int, with receiver: Int) -> Instant {
        sendings[sender * hosts.count + receiver].handshakes.last ?? .zero
    }

    /// Returns when the last initiation or response between two hosts went out.
    func lastHandshake(between one: SimulatedHost, _ other: SimulatedHost) -> Instant {
        max(lastHandshake(of: one.index, with: other.index), lastHandshake(of: other.index, with: one.index))
    }

    // MARK: Pairs

    /// Returns the time since when two hosts could reach each other in a chat; nil if they cannot.
    private func clearSince(
        _ left: SimulatedHost, _ right: SimulatedHost, in chat: Int, _ simulation: Simulation
    ) -> Instant? {
        let now = simulation.now
        guard left.isActive, right.isActive, !left.isUnplugged, !right.isUnplugged,
            left.chats.contains(chat), right.chats.contains(chat),
            single.contains(left.plan.identity), single.contains(right.plan.identity),
            left.blocks[right.plan.identity] == nil, right.blocks[left.plan.identity] == nil,
            !left.refuses(right.key, in: chat), !right.refuses(left.key, in: chat),
            // Two nodes may take long to notice that one of them returned to a snapshot (L-93 to L-95).
            !left.wasReverted, !right.wasReverted
        else { return nil }
        var since = max(left.disturbedAt, right.disturbedAt)
        for host in [left, right] {
            if let wokeAt = host.wokeAt { since = max(since, wokeAt + LivenessChecker.recovery) }
            if let movedAt = host.movedAt { since = max(since, movedAt + LivenessChecker.recovery) }
        }
        let faultEnd = simulation.network.faultEnd(between: left.index, right.index)
        since = max(since, faultEnd)
        // If a datagram was lost, a link may still use its peer's former address.
        if left.movedAt != nil || right.movedAt != nil { since = max(since, faultEnd + LivenessChecker.following) }
        return since < now ? since : nil
    }

    /// Returns the time since when a pair is settled; nil if the pair is not.
    private func settledSince(
        _ writer: SimulatedHost, _ viewer: SimulatedHost, in chat: Int, _ simulation: Simulation
    ) -> Instant? {
        guard var since = clearSince(writer, viewer, in: chat, simulation) else { return nil }
        for (one, other) in [(writer, viewer), (viewer, writer)] {
            guard let shown = simulation.checker.shownSince(other.plan.identity, in: chat, by: one.index) else {
                return nil
            }
            since = max(since, shown)
        }
        guard simulation.now - since >= LivenessChecker.settling else { return nil }
        return since
    }

    /// Returns whether two nodes may use different sessions after losses. An initiator drops an incomplete session, on
    /// which its peer may already send (L-75). The link then recovers by silence.
    ///
    /// Only a fault after the session's handshake does this. A ping of the session that the fault delayed reaches the
    /// peer while its session waits for one (L-12). Later responses may answer copies of an old initiation.
    private func mayBeOutOfStep(
        _ writer: SimulatedHost, _ viewer: SimulatedHost, _ simulation: Simulation
    ) -> Bool {
        let faultEnd = simulation.network.faultEnd(between: writer.index, viewer.index)
        guard simulation.now < faultEnd + LivenessChecker.recovery else { return false }
        let longest = min(Limits.joinPingPeriod + simulation.longestDelay, Limits.unconfirmedSession)
        return [(writer, viewer), (viewer, writer)].contains { sender, receiver in
            sendings[sender.index * hosts.count + receiver.index].handshakes.contains {
                $0 <= faultEnd && faultEnd - $0 < longest + .milliseconds(500)
            }
        }
    }

    // MARK: Rules

    /// Checks all rules. The simulation calls this at each tick.
    func check(_ simulation: Simulation) {
        let now = simulation.now
        for host in hosts {
            for chat in host.typing.indices { host.typing[chat].advance(to: now) }
        }
        checkMessages(simulation)
        for (sender, receiver, at, text) in suspicions
        where hasBeatenOnlyIdly(hosts[sender], hosts[receiver], since: at, simulation) {
            simulation.checker.report(.heartbeats, text, at)
        }
        suspicions = []
        // In a large chat, checking some pairs is enough.
        for writer in hosts.prefix(12) {
            for viewer in hosts.prefix(60) where viewer.index != writer.index {
                for chat in writer.chats.sorted() { check(writer, viewer, in: chat, simulation) }
            }
        }
    }

    private func check(
        _ writer: SimulatedHost, _ viewer: SimulatedHost, in chat: Int, _ simulation: Simulation
    ) {
        let now = simulation.now
        guard let clear = clearSince(writer, viewer, in: chat, simulation) else { return }
        let isShown = simulation.checker.shownSince(writer.plan.identity, in: chat, by: viewer.index) != nil
        if !isShown { return checkMeeting(writer, viewer, in: chat, clear, simulation) }
        guard simulation.isPromised(writer, viewer, in: chat),
            let since = settledSince(writer, viewer, in: chat, simulation)
        else { return }
        viewer.meetings[chat, default: [:]][writer.index] = writer.addresses
        guard !mayBeOutOfStep(writer, viewer, simulation) else { return }
        let identity = writer.plan.identity
        let delay = simulation.slowestTyping(from: writer, to: viewer)
        let about = "host \(writer.index) at host \(viewer.index), chat \(chat)"
        if let start = writer.typing[chat].announcedSince, writer.plan.sendsTyping, now - start > delay,
            !simulation.checker.isShownTyping(identity, in: chat, by: viewer.index)
        {
            simulation.checker.report(.missingTyping, "\(about), for \(now - start)", now)
        }
        // A lost status comes again with the next heartbeat. The link of an earlier run may show until it goes down.
        let isAlone = writer.incarnation == 1 || now - writer.startedAt > .seconds(4)
        if isAlone, let node = writer.node, now - node.awayChangedAt > delay,
            now - since > simulation.idleInterval(of: writer) + delay,
            simulation.checker.isShownAway(identity, in: chat, by: viewer.index) != node.isAway,
            !simulation.limits.mayHold(
                writer.key, in: simulation.chats[chat].id, by: viewer, delay: .milliseconds(80), now)
        {
            simulation.checker.report(.wrongPresence, "\(about), away or not", now)
        }
        guard simulation.isPunctual(writer) else { return }
        // A lost record is sent again after at most a second (M-11). The limit allows for two losses.
        if let due = writer.node?.nameDue, now - max(due, clear) > delay + .milliseconds(2_500),
            let name = simulation.checker.nameShown(identity, in: chat, by: viewer.index), name != writer.name
        {
            simulation.checker.report(.wrongName, "\(about), \(name) and not \(writer.name)", now)
        }
        checkFrames(writer, viewer, in: chat, since, simulation)
        let last = sendings[writer.index * hosts.count + viewer.index]
        let silence = now - last.status
        if silence > max(last.interval, simulation.idleInterval(of: writer)) + .milliseconds(20) {
            simulation.checker.report(.heartbeats, "\(about), no status for \(silence)", now)
        }
    }

    /// Checks that two nodes show each other after they could exchange datagrams for long enough.
    private func checkMeeting(
        _ host: SimulatedHost, _ viewer: SimulatedHost, in chat: Int, _ clear: Instant, _ simulation: Simulation
    ) {
        let now = simulation.now
        guard simulation.isPromised(host, viewer, in: chat), !simulation.scenario.network.isByHand,
            simulation.scenario.faultsEnd < 80_000, knowsTheWay(host, viewer, in: chat, simulation),
            let there = introductions[Introduction(viewer: viewer.index, host: host.index, chat: chat)],
            let back = introductions[Introduction(viewer: host.index, host: viewer.index, chat: chat)],
            there.name == host.instanceNames[chat], there.viewerIncarnation == viewer.incarnation,
            back.name == viewer.instanceNames[chat], back.viewerIncarnation == host.incarnation
        else { return }
        let limit = simulation.isAttacked ? LivenessChecker.meetingOfFriends : LivenessChecker.meeting
        let introduced = max(there.at, back.at)
        guard now - introduced > limit, now - clear > LivenessChecker.meeting else { return }
        simulation.checker.report(
            .missingPerson,
            "host \(host.index) at host \(viewer.index), chat \(chat), nothing between them for \(now - clear)", now)
    }

    /// Whether two friends can find each other among forged instances with their keys. At least one friend must be at
    /// the address of their last meeting (D-19).
    private func knowsTheWay(
        _ host: SimulatedHost, _ viewer: SimulatedHost, in chat: Int, _ simulation: Simulation
    ) -> Bool {
        guard simulation.adversary?.plan.forgesFriends == true else { return true }
        return viewer.meetings[chat]?[host.index] == host.addresses
            || host.meetings[chat]?[viewer.index] == viewer.addresses
    }

    /// Checks that due messages of verified friends have shown, unless a fault hit one of the two nodes since.
    private func checkMessages(_ simulation: Simulation) {
        while let promise = promises.first, promise.due <= simulation.now {
            promises.removeFirst()
            let message = simulation.checker.messages.sent[promise.index]
            let (sender, viewer) = (hosts[promise.sender.host], hosts[promise.viewer.host])
            guard !message.shownTo.contains(viewer.plan.identity), sender.incarnation == promise.sender.incarnation,
                viewer.incarnation == promise.viewer.incarnation,
                let clear = clearSince(sender, viewer, in: promise.chat, simulation), clear < message.at
            else { continue }
            simulation.checker.report(
                .lateMessage,
                "host \(sender.index) to host \(viewer.index), chat \(promise.chat): \(message.text.prefix(20))",
                simulation.now)
        }
    }

    /// Checks that a viewer had a reason to end a typist's indicator.
    func ended(_ writer: SimulatedHost, at viewer: SimulatedHost, in chat: Int, _ simulation: Simulation) {
        let now = simulation.now
        writer.typing[chat].advance(to: now)
        guard simulation.isPromised(writer, viewer, in: chat), writer.plan.sendsTyping,
            let start = writer.typing[chat].announcedSince,
            now - start > simulation.slowestTyping(from: writer, to: viewer),
            settledSince(writer, viewer, in: chat, simulation) != nil, !mayBeOutOfStep(writer, viewer, simulation)
        else { return }
        simulation.checker.report(
            .missingTyping, "host \(writer.index) at host \(viewer.index), chat \(chat): a gap", now)
    }

    /// Checks that the typing frame of the last edge and its two copies went out (T-6).
    private func checkFrames(
        _ writer: SimulatedHost, _ viewer: SimulatedHost, in chat: Int, _ since: Instant, _ simulation: Simulation
    ) {
        guard writer.plan.sendsTyping, let edge = writer.typing[chat].edge, since + LivenessChecker.settling <= edge.at,
            let last = writer.typing[chat].frames.last, last < simulation.now,
            simulation.now - edge.at < .seconds(1)
        else { return }
        let sent = sendings[writer.index * hosts.count + viewer.index].typing
        for frame in writer.typing[chat].frames where !(edge.isMessage && frame == edge.at) {
            guard !sent.contains(frame) else { continue }
            simulation.checker.report(
                .edges, "host \(writer.index) sends host \(viewer.index) no frame \(frame - edge.at) after the edge",
                simulation.now)
        }
    }

    /// Checks that a typing frame goes out at the time of an edge or one of its copies (T-5 to T-7).
    func checkTime(ofFrameBy writer: SimulatedHost, _ simulation: Simulation) {
        guard simulation.isPunctual(writer) else { return }
        let now = simulation.now
        for chat in writer.chats { writer.typing[chat].advance(to: now) }
        let isTime = writer.chats.contains { writer.typing[$0].frames.contains(now) }
        if !isTime { simulation.checker.report(.edges, "host \(writer.index) sends a frame out of turn", now) }
    }
}

/// The rules for the times of heartbeats (T-8, T-11).
extension LivenessChecker {
    /// Returns whether only the idle interval caused the heartbeats between two hosts. A link that comes up, gets its
    /// name or goes down sends additional heartbeats (L-44, L-82). For a person with several devices the checker cannot
    /// see such changes.
    func hasBeatenOnlyIdly(
        _ sender: SimulatedHost, _ receiver: SimulatedHost, since instant: Instant, _ simulation: Simulation
    ) -> Bool {
        guard single.contains(receiver.plan.identity) else { return false }
        let chats = sender.chats.intersection(receiver.chats)
        // A link in an owner's chat that the receiver has left may go down unseen.
        let isApart = sender.browsed.contains { $0 >= Simulation.chats.count && !chats.contains($0) }
        guard !isApart else { return false }
        return !chats.isEmpty
            && chats.allSatisfy { chat in
                let since = simulation.checker.shownSince(receiver.plan.identity, in: chat, by: sender.index)
                return since.map { instant - $0 > .seconds(1) } ?? false
            }
    }

    /// Checks the time of a heartbeat that a node sends on a session (T-8, T-11).
    ///
    /// - Parameters:
    ///   - receiver: The host at the destination; nil if none is there.
    ///   - isFormer: Whether a host had this address before. The link to it goes down at some time.
    func checkBeat(
        of sender: SimulatedHost, to receiver: Int?, isFormer: Bool, _ bytes: [UInt8], _ simulation: Simulation
    ) {
        let now = simulation.now
        let id = SessionID(sender: sender.index, index: SealedHeader(bytes).index)
        let interval = simulation.idleInterval(of: sender)
        // A heartbeat follows at once when the peer's first name arrives (L-82).
        let mayNameLink = simulation.checker.lastRecord[sender.index] == now
        defer {
            beats[id] = Beat(
                at: now, first: beats[id]?.first ?? now, interval: interval, mayNameLink: mayNameLink)
        }
        let isPunctual = simulation.isPunctual(sender)
        guard let beat = beats[id], isPunctual || simulation.adversary != nil, sender.plan.lateness == 0,
            now - sender.disturbedAt > .seconds(3), sender.departures.isEmpty, sender.lie == nil,
            // A change of the away bit goes out at once, and puts no heartbeat off (T-21, T-11).
            let node = sender.node, node.awayChangedAt < beat.at, !mayNameLink, !beat.mayNameLink
        else { return }
        if let receiver {
            // The link of an earlier run goes down at some time, while the link of the present run shows the person.
            guard hosts[receiver].incarnation == 1 || beat.first >= hosts[receiver].startedAt else { return }
            let handshake = lastHandshake(between: sender, hosts[receiver])
            // A host that has just moved may now have the address of another host's link.
            guard hosts[receiver].movedAt.map({ now - $0 > .seconds(3) }) ?? true,
                handshake == .zero || beat.at - handshake > Limits.joinPingPeriod,
                hasBeatenOnlyIdly(sender, hosts[receiver], since: beat.at, simulation)
            else { return }
        } else if beat.at - beat.first < .seconds(2) || !simulation.isAttacked || isFormer {
            // A link sends additional heartbeats when it comes up, when the peer names itself (L-82), and when it
            // goes down (L-44).
            return
        }
        func report(_ text: String) {
            if let receiver { return suspicions.append((sender.index, receiver, now, text)) }
            simulation.checker.report(.heartbeats, text, now)
        }
        let gap = now - beat.at
        for chat in sender.chats { sender.typing[chat].advance(to: now) }
        let edges = sender.chats.compactMap { sender.typing[$0].edge?.at }
        let isTyping = sender.chats.contains { sender.typing[$0].announcedSince != nil }
        let isQuiet = edges.allSatisfy { $0 < beat.at }
        if isQuiet, !isTyping {
            let shortest = min(beat.interval, interval) * Limits.idleJitterPercent.lowerBound / 100
            // The node may have scheduled this heartbeat before the typing that has just ended.
            let isFresh = edges.allSatisfy { beat.at - $0 > .seconds(3) }
            let isLate = isPunctual && gap > max(beat.interval, interval)
            guard isLate || (isFresh && gap < shortest) else { return }
            report("host \(sender.index), \(gap) after the one before")
        } else if isPunctual, isTyping, isQuiet, sender.chats.count == 1, gap != Limits.typingHeartbeat {
            report("host \(sender.index) types, \(gap) after the one before")
        } else if isPunctual, isTyping, sender.chats.count == 1, let edge = edges.first, beat.at < edge,
            now - edge != Limits.typingHeartbeat
        {
            report("host \(sender.index) types, \(now - edge) after its edge")
        }
    }
}

/// The announcements of a user's typing in one chat, computed from the user's actions alone (T-5 to T-10).
///
/// The model has no lateness: a node that was stopped, or whose timers are late, announces the same later.
struct TypingModel {
    /// A start or a stop that the node must announce.
    struct Edge {
        let at: Instant
        let isStart: Bool
        /// Whether a message announces the edge, in the same datagram.
        let isMessage: Bool
    }

    private enum State {
        case idle
        case due(at: Instant, until: Instant)
        case announced(until: Instant)
    }

    private var state = State.idle
    private var lastStart: Instant?
    /// The last edge.
    private(set) var edge: Edge?

    /// The time since when typing is announced; nil while it is not.
    var announcedSince: Instant? {
        guard case .announced = state else { return nil }
        return edge?.at
    }

    /// The times of the last edge's typing frames: the first at once, then two copies (T-6).
    var frames: [Instant] {
        guard let edge else { return [] }
        return [edge.at] + Limits.copies.map { edge.at + $0 }
    }

    // MARK: Inputs

    mutating func edit(_ now: Instant) {
        advance(to: now)
        let until = now + Limits.typingIdleStop
        switch state {
        case .idle:
            if let lastStart, now < lastStart + Limits.startInterval {
                state = .due(at: lastStart + Limits.startInterval, until: until)
            } else {
                start(now, until: until)
            }
        case .due(let at, _): state = .due(at: at, until: until)
        case .announced: state = .announced(until: until)
        }
    }

    mutating func end(_ now: Instant, byMessage isMessage: Bool = false) {
        advance(to: now)
        if case .announced = state { edge = Edge(at: now, isStart: false, isMessage: isMessage) }
        state = .idle
    }

    /// Ends the announcement without copies, because a farewell carries the stop.
    mutating func abandon() {
        state = .idle
        edge = nil
    }

    mutating func advance(to now: Instant) {
        if case .due(let at, let until) = state, at <= now {
            if until <= at { state = .idle } else { start(at, until: until) }
        }
        if case .announced(let until) = state, until <= now {
            state = .idle
            edge = Edge(at: until, isStart: false, isMessage: false)
        }
    }

    private mutating func start(_ at: Instant, until: Instant) {
        state = .announced(until: until)
        lastStart = at
        edge = Edge(at: at, isStart: true, isMessage: false)
    }
}
