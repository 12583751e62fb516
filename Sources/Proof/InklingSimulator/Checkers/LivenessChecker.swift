import InklingCore
import InklingWire

/// The checker of liveness: a node shows each present peer, and shows typing without a gap. Both hold where the path
/// between the two was whole for long enough. Nodes have to send the datagrams for both in time.
///
/// The checker ignores the beliefs of nodes. A pair is *settled* when each shows the other, after a second without
/// disturbance. In that second the path was whole in both directions.
final class LivenessChecker {
    /// How long the path is whole before anything is demanded.
    private static let settling = Duration.seconds(1)
    /// The undisturbed time of a host that moved, or whose node was stopped. Its links may have to recover by
    /// silence.
    private static let recovery = Duration.seconds(5)
    /// Within which a heartbeat comes from a new address, and the other end follows it there (L-51).
    private static let following = Duration.milliseconds(1_500)
    /// Within which somebody is shown with whom a datagram can be exchanged (L-5: less than 5 s between initiations).
    private static let meeting = Duration.milliseconds(6_500)
    /// The same of friends while somebody attacks, after one of them has started.
    private static let meetingOfFriends = Duration.seconds(5)
    /// Within which typing of a friend shows while somebody attacks.
    static let typingOfFriends = Duration.milliseconds(200)

    /// Within which a message of a verified friend shows while somebody attacks.
    private static let messageOfFriends = Duration.seconds(5)

    /// A message that a verified friend sent while somebody attacks.
    private struct Promise {
        let index: Int
        let sender: (host: Int, incarnation: Int)
        let viewer: (host: Int, incarnation: Int)
        let chat: Int
        let due: Instant
    }

    struct Sending {
        /// When the last typing frames went out, the newest last.
        var typing: [Instant] = []
        /// When the last datagram with a status went out.
        var status = Instant.zero
        /// The sender's idle interval then.
        var interval = Duration.zero
        /// When the last handshake or its answer went out.
        var handshake = Instant.zero
    }

    /// The heartbeats on one session.
    struct Beat {
        let at: Instant
        /// When the first one went out on the session.
        let first: Instant
        /// The idle interval of the node then, as its links ask for.
        let interval: Duration
    }

    struct SessionID: Hashable {
        let sender: Int
        let index: UInt32
    }

    let hosts: [SimulatedHost]
    /// The identities with one device.
    let single: Set<Int>
    /// By the sender and, in its place, the receiver.
    var sendings: [Sending]
    var beats: [SessionID: Beat] = [:]
    /// The instance of another host's of which discovery has told a host's node in a chat, and when.
    private var introductions: [Introduction: (name: String, viewerIncarnation: Int, at: Instant)] = [:]

    /// The messages that have to show, in the order in which they are due.
    private var promises: [Promise] = []

    /// Heartbeats at the wrong time, unless their link went down at that moment (L-44).
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

    /// Discovery told a host of another's instance.
    func introduced(_ name: String, of host: Int, in chat: Int, to viewer: SimulatedHost, _ now: Instant) {
        let introduction = Introduction(viewer: viewer.index, host: host, chat: chat)
        if let before = introductions[introduction], before.name == name, before.viewerIncarnation == viewer.incarnation
        {
            return
        }
        introductions[introduction] = (name, viewer.incarnation, now)
    }

    /// Records a message: verified friends show it in time, also during an attack.
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

    /// Discovery lists an instance no longer, or the viewer has left the chat.
    func forgot(_ host: Int, in chat: Int, at viewer: Int) {
        introductions[Introduction(viewer: viewer, host: host, chat: chat)] = nil
    }

    /// A node sent a datagram to another.
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
            sendings[path].handshake = now
        default: break
        }
    }

    /// When a host last sent another a handshake, or answered one.
    func lastHandshake(of sender: Int, with receiver: Int) -> Instant {
        sendings[sender * hosts.count + receiver].handshake
    }

    /// When the last handshake between two hosts, or its answer, went out.
    func lastHandshake(between one: SimulatedHost, _ other: SimulatedHost) -> Instant {
        max(lastHandshake(of: one.index, with: other.index), lastHandshake(of: other.index, with: one.index))
    }

    // MARK: Pairs

    /// Since when nothing stood between two hosts in a chat; nil if something does.
    private func clearSince(
        _ left: SimulatedHost, _ right: SimulatedHost, in chat: Int, _ simulation: Simulation
    ) -> Instant? {
        let now = simulation.now
        guard left.isActive, right.isActive, !left.isUnplugged, !right.isUnplugged,
            left.chats.contains(chat), right.chats.contains(chat),
            single.contains(left.plan.identity), single.contains(right.plan.identity),
            left.blocks[right.plan.identity] == nil, right.blocks[left.plan.identity] == nil,
            // Two ends may take long to see that one of them is what it was before (L-93 to L-95).
            !left.wasReverted, !right.wasReverted
        else { return nil }
        var since = max(left.disturbedAt, right.disturbedAt)
        for host in [left, right] {
            if let wokeAt = host.wokeAt { since = max(since, wokeAt + LivenessChecker.recovery) }
            if let movedAt = host.movedAt { since = max(since, movedAt + LivenessChecker.recovery) }
        }
        let faultEnd = simulation.network.faultEnd(between: left.index, right.index)
        since = max(since, faultEnd)
        // A lost datagram may have left a link at the address that its peer had before.
        if left.movedAt != nil || right.movedAt != nil { since = max(since, faultEnd + LivenessChecker.following) }
        return since < now ? since : nil
    }

    /// Since when a pair is settled; nil if it is not.
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

    // MARK: Rules

    /// Called at each tick.
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
        // In a large chat a few stand for all.
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
        let identity = writer.plan.identity
        let delay = simulation.slowestTyping(from: writer, to: viewer)
        let about = "host \(writer.index) at host \(viewer.index), chat \(chat)"
        if let start = writer.typing[chat].announcedSince, writer.plan.sendsTyping, now - start > delay,
            !simulation.checker.isShownTyping(identity, in: chat, by: viewer.index)
        {
            simulation.checker.report(.missingTyping, "\(about), for \(now - start)", now)
        }
        // The next heartbeat repeats a lost status, and the link of the run before may show until it is down.
        let isAlone = writer.incarnation == 1 || now - writer.startedAt > .seconds(4)
        if isAlone, let node = writer.node, now - node.awayChangedAt > delay,
            now - since > simulation.idleInterval(of: writer) + delay,
            simulation.checker.isShownAway(identity, in: chat, by: viewer.index) != node.isAway
        {
            simulation.checker.report(.wrongPresence, "\(about), away or not", now)
        }
        guard simulation.isPunctual(writer) else { return }
        // A record that was lost goes out again after a second at most (M-11), and again.
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

    /// Two who could exchange datagrams for long enough are there for each other.
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

    /// The messages of verified friends that are due have shown, unless something befell the two since.
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

    /// A typist is shown no more.
    func ended(_ writer: SimulatedHost, at viewer: SimulatedHost, in chat: Int, _ simulation: Simulation) {
        let now = simulation.now
        writer.typing[chat].advance(to: now)
        guard simulation.isPromised(writer, viewer, in: chat), writer.plan.sendsTyping,
            let start = writer.typing[chat].announcedSince,
            now - start > simulation.slowestTyping(from: writer, to: viewer),
            settledSince(writer, viewer, in: chat, simulation) != nil
        else { return }
        simulation.checker.report(
            .missingTyping, "host \(writer.index) at host \(viewer.index), chat \(chat): a gap", now)
    }

    /// The last edge went out at once and twice more (T-6).
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

    /// Checks that the time for a typing frame has come, of an edge or a copy (T-5 to T-7).
    func checkTime(ofFrameBy writer: SimulatedHost, _ simulation: Simulation) {
        guard simulation.isPunctual(writer) else { return }
        let now = simulation.now
        for chat in writer.chats { writer.typing[chat].advance(to: now) }
        let isTime = writer.chats.contains { writer.typing[$0].frames.contains(now) }
        if !isTime { simulation.checker.report(.edges, "host \(writer.index) sends a frame out of turn", now) }
    }
}
