import InklingCore
import InklingWire

/// Compares what the nodes show with what people did and which datagrams arrived.
///
/// The checker takes the truth from the scenario alone: a node's own state proves nothing.
struct StateChecker {
    /// How one node shows one person in one chat.
    struct Shown {
        var presence = Presence.offline
        /// The time since when the person is not offline.
        var since = Instant.zero
        var isTyping = false
        /// The time since when the person is offline again, and whether the link was up for long enough to be kept
        /// (L-84).
        var left: (at: Instant, isKept: Bool)?
        /// The index of the shown name among the names of a person with one device.
        var name = 0

        var visible: Coverage.PersonState { .init(presence: presence, isTyping: isTyping) }
    }

    /// A farewell that one viewer has to show.
    struct Departure {
        let host: Int
        /// The start of the host's node, counted from 1, that sent the farewell.
        let incarnation: Int
        let viewer: Int
        let chat: Int
        let at: Instant
        let due: Instant
    }

    struct PersonID: Hashable {
        let viewer: Int
        let chat: Int
        let identity: Int
    }

    struct DeviceID: Hashable {
        let viewer: Int
        let chat: Int
        let host: Int
    }

    /// The datagrams that one run of a node sends another node in a chat. All sessions of the run share one order
    /// (L-23).
    struct StateID: Hashable {
        let viewer: Int
        let chat: Int
        let sender: Int
        let incarnation: Int
    }

    struct NonceID: Hashable {
        let sender: Int
        let index: UInt32
        let counter: UInt32
    }

    var violation: Violation?
    var coverage = Coverage()
    var messages = MessageLedger()
    var shown: [PersonID: Shown] = [:]
    /// The people shown as typing, by viewer. With no typist, a check costs nothing.
    var typists: [Int: [PersonID]] = [:]
    /// The time when the last evidence of a typing status reached a viewer.
    var evidence: [PersonID: Instant] = [:]
    /// The time and number of the last datagram of a device that is evidence at the viewer.
    var heard: [DeviceID: (at: Instant, number: UInt64)] = [:]
    /// The time when a device may last have reported that it hears nothing.
    var unheard: [DeviceID: Instant] = [:]
    /// The time when a device last said bye to a viewer that had not yet sent its name there (L-86).
    var unnamed: [DeviceID: Instant] = [:]
    /// The time of the last datagram of a device, in any order.
    var lastSign: [DeviceID: Instant] = [:]
    /// The time when a viewer last received a pong that is no evidence, but may have brought a down link up (L-80).
    var revivals: [DeviceID: Instant] = [:]
    var newest: [StateID: UInt64] = [:]
    var newestStatus: [StateID: UInt64] = [:]
    var nonces: [NonceID: Int] = [:]
    var departures: [Departure] = []
    /// The time when a viewer last received a record. A record may have named a link.
    var lastRecord: [Int: Instant] = [:]
    /// The time when a viewer last received a name of a device on a link that was up (L-85).
    var namings: [DeviceID: Instant] = [:]
    /// The time when a device sent the newest pong that reached a viewer (L-80).
    var pongs: [DeviceID: Instant] = [:]
    /// The viewers for which the next check of statuses is skipped.
    var excused: Set<Int> = []
    let hosts: [SimulatedHost]
    var chatIndices: [ChatID: Int]
    /// How late the timers of each viewer may be.
    let lateness: [Duration]
    /// The longest stop that a viewer's node may not notice: at most one heartbeat interval and the time that counts as
    /// late.
    let unnoticed: [Duration]
    /// The most links that a node of the scenario needs.
    let mostLinks: Int
    let adversary: Adversary?
    let devices: [Int: [Int]]
    let identities: [PublicKey: Int]

    init(hosts: [SimulatedHost], chats: [ChatKeys], scenario: Scenario, adversary: Adversary?) {
        self.hosts = hosts
        self.adversary = adversary
        chatIndices = Dictionary(uniqueKeysWithValues: chats.enumerated().map { ($1.id, $0) })
        var unnoticed = hosts.map { _ in Duration.zero }
        for step in scenario.steps {
            if case .pause(let length) = step.action {
                unnoticed[step.host] = max(unnoticed[step.host], .milliseconds(min(length, 1_500)))
            }
        }
        lateness = hosts.map { .microseconds($0.plan.lateness) }
        self.unnoticed = unnoticed
        mostLinks = (hosts.count - 1) * scenario.chats.count + (adversary?.mostLinks ?? 0)
        devices = Dictionary(grouping: hosts.map(\.index)) { hosts[$0].plan.identity }
        identities = Dictionary(hosts.map { ($0.key, $0.plan.identity) }) { first, _ in first }
    }

    mutating func report(_ rule: Violation.Rule, _ text: String, _ now: Instant) {
        if violation == nil { violation = Violation(rule: rule, at: now, text: text) }
    }

    /// Whether the run has an adversary.
    var isAttacked: Bool { adversary != nil }

    // MARK: Statuses

    /// Checks that a node shows no outdated typing. Called before and after each input of the node.
    mutating func checkStatuses(of viewer: Int, _ now: Instant) {
        guard excused.remove(viewer) == nil, let typists = typists[viewer], !typists.isEmpty else { return }
        // A node that was stopped first reads its socket (L-30), and a list may wait (T-22).
        let pace = hosts.count > Limits.lists ? Duration.milliseconds(50) : .zero
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt <= pace { return }
        var limit = Limits.typingExpiry + lateness[viewer]
        // A list may wait for earlier lists (T-22). During an attack a timer may wait for the processor.
        if adversary != nil {
            limit += .milliseconds(80)
        } else if hosts.count > Limits.lists {
            limit += .milliseconds(50)
        }
        // A woken node treats a datagram that waited in its socket as fresh.
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt <= limit { limit += unnoticed[viewer] }
        for person in typists {
            let age = evidence[person].map { now - $0 }
            if age.map({ $0 > limit }) ?? true {
                report(.staleTyping, "\(describe(person)); evidence \(age.map { "\($0)" } ?? "never")", now)
            }
        }
    }

    /// Records a sealed datagram that is a sign of life.
    mutating func heard(_ packet: Packet, in tag: ChatID, by viewer: Int, _ now: Instant) {
        guard let chat = chatIndices[tag], packet.session != nil else { return }
        // Evidence must be newer than all earlier datagrams of its state (L-23).
        let state = StateID(viewer: viewer, chat: chat, sender: packet.sender, incarnation: packet.incarnation)
        guard newest[state].map({ packet.number >= $0 }) ?? true else { return }
        lastSign[DeviceID(viewer: viewer, chat: chat, host: packet.sender)] = now
    }

    /// Records a sealed datagram that arrived and that the node accepted.
    ///
    /// - Parameter handshake: Returns when the last handshake of a host and the viewer went out.
    /// - Returns: Whether the datagram has the newest status of its state so far.
    mutating func took(
        _ packet: Packet, in tag: ChatID, by viewer: Int, arrivedAt: Instant, isNew: Bool, _ now: Instant,
        handshake: (Int) -> Instant
    ) -> Bool {
        guard let chat = chatIndices[tag], packet.session != nil, packet.isGenuine else { return false }
        let state = StateID(viewer: viewer, chat: chat, sender: packet.sender, incarnation: packet.incarnation)
        let isNewest = newest[state].map { packet.number > $0 } ?? true
        if isNewest { newest[state] = packet.number }
        let device = DeviceID(viewer: viewer, chat: chat, host: packet.sender)
        if packet.kind == .pong {
            pongs[device] = max(pongs[device] ?? .zero, packet.sentAt)
            if isNew, !isNewest, mayBringUp(packet, in: chat, by: viewer, now) { revivals[device] = now }
        }
        // A pong of 31 bytes or fewer has no record beside it (L-82).
        if packet.kind == .record || packet.kind == .pong && packet.bytes.count > 31 {
            lastRecord[viewer] = now
            // A link that is down takes no name (L-80).
            let isNaming = packet.kind == .pong || isName(packet)
            if isNaming, isUp(device, since: handshake(packet.sender)) { namings[device] = now }
        }
        let isShown = packet.shows & 1 << UInt32(chat) != 0
        let isOneOfSeveral = devices[hosts[viewer].plan.identity]?.count ?? 1 > 1
        if packet.kind == .bye, !isShown || isOneOfSeveral { unnamed[device] = now }
        // A status that reports "unheard" is no sign of life (L-44).
        let hasStatus = packet.kind.hasStatus(size: packet.bytes.count)
        // A viewer with several devices: the sender may show another device, so its status may still report
        // "unheard".
        if packet.kind == .bye || !isShown || isOneOfSeveral && hasStatus {
            unheard[device] = now
        } else if isNew, isNewest, packet.number > heard[device]?.number ?? 0 {
            heard[device] = (now, packet.number)
        }
        guard hasStatus,
            newestStatus[state].map({ packet.number > $0 }) ?? true
        else { return false }
        newestStatus[state] = packet.number
        let person = PersonID(viewer: viewer, chat: chat, identity: hosts[packet.sender].plan.identity)
        if packet.typing & 1 << UInt32(chat) != 0 { evidence[person] = max(evidence[person] ?? arrivedAt, arrivedAt) }
        return true
    }

    /// Returns whether a device answered the viewer after a handshake, so that their link came up (L-80).
    func isUp(_ device: DeviceID, since handshake: Instant) -> Bool { pongs[device].map { $0 > handshake } ?? false }

    /// Returns whether a pong may bring a down link up. A pong behind newer datagrams does so too, if its ping is less
    /// than 3 s old (L-80). While the viewer shows a person with one device and one run, the link is up.
    private func mayBringUp(_ pong: Packet, in chat: Int, by viewer: Int, _ now: Instant) -> Bool {
        let sender = hosts[pong.sender]
        let isSingle = devices[sender.plan.identity]?.count == 1 && sender.incarnation == 1
        return now - pong.sentAt < Limits.pongAwaited
            && !(isSingle && shownSince(sender.plan.identity, in: chat, by: viewer) != nil)
    }

    /// Returns whether a datagram has the size of one that contains only a name. Few texts have this size.
    private func isName(_ packet: Packet) -> Bool {
        hosts[packet.sender].names.contains { 33 + $0.utf8.count == packet.bytes.count }
    }

    /// Checks a node's list of typists.
    ///
    /// - Parameter cause: The datagram of the input, if the node accepted it and it was the newest of its session.
    ///
    /// - Returns: The identities that the node no longer shows, each with the chat.
    mutating func typing(
        _ people: [Person], in tag: ChatID, by viewer: Int, cause: Packet?, _ now: Instant
    ) -> [(identity: Int, chat: Int)] {
        guard let chat = chatIndices[tag] else { return [] }
        let before = (typists[viewer] ?? []).filter { $0.chat == chat }
        var after: [PersonID] = []
        for person in people {
            guard let identity = identities[person.key] else {
                if adversary?.holds(person.key) ?? false { continue }
                report(.untrueTyping, "host \(viewer) shows somebody who does not exist", now)
                continue
            }
            let id = PersonID(viewer: viewer, chat: chat, identity: identity)
            after.append(id)
            if identity == hosts[viewer].plan.identity { report(.ownTyping, describe(id), now) }
            if hosts[viewer].blocks(identity) { report(.absentTyping, "\(describe(id)), blocked", now) }
            guard !before.contains(id) else { continue }
            // With many changes a list comes late. So does a person who comes back at once (T-22).
            let waits: Duration =
                adversary != nil
                ? .milliseconds(1_080)
                : hosts.count > Limits.lists ? .milliseconds(50) + lateness[viewer] : .zero
            // Statuses before the name count as well, and show together with the name (L-85).
            let isJustShown = shown[id].map { now - $0.since <= waits } ?? false
            if lastRecord[viewer] == now || isJustShown, let evidence = evidence[id],
                now - evidence < Limits.typingExpiry
            {
                continue
            }
            // A node that was stopped shows a delayed list after it wakes.
            if waits > .zero, let evidence = evidence[id], now - max(evidence, hosts[viewer].wokeAt ?? .zero) <= waits {
                continue
            }
            let isTrue = cause.map { hosts[$0.sender].plan.identity == identity && $0.typing & 1 << UInt32(chat) != 0 }
            if isTrue != true {
                report(.untrueTyping, "\(describe(id)), after \(cause?.summary ?? "no datagram")", now)
            }
        }
        if Set(after).count != after.count { report(.untrueTyping, "host \(viewer) shows a person twice", now) }
        for id in before where !after.contains(id) { change(id) { $0.isTyping = false } }
        for id in after where !before.contains(id) { change(id) { $0.isTyping = true } }
        typists[viewer] = (typists[viewer] ?? []).filter { $0.chat != chat } + after
        for id in after where shown[id]?.presence ?? .offline == .offline {
            report(.absentTyping, "\(describe(id)), offline", now)
        }
        return before.filter { !after.contains($0) }.map { ($0.identity, $0.chat) }
    }

    /// Returns the time since when a person is shown as online or away; nil if offline.
    func shownSince(_ identity: Int, in chat: Int, by viewer: Int) -> Instant? {
        guard let shown = shown[PersonID(viewer: viewer, chat: chat, identity: identity)], shown.presence != .offline
        else { return nil }
        return shown.since
    }

    /// Returns the chats in which a person is shown as online or away, as bits.
    func chatsShown(of identity: Int, by viewer: Int) -> UInt32 {
        chatIndices.values.reduce(0) { bits, chat in
            shownSince(identity, in: chat, by: viewer) == nil ? bits : bits | 1 << UInt32(chat)
        }
    }

    /// Checks a message that failed because its recipient is silent. The earliest time is 60 s after the link went down
    /// (L-83).
    ///
    /// - Parameter handshake: The time of the last handshake between the two, which may have begun a state.
    mutating func failedBySilence(
        to identity: Int, in tag: ChatID, by viewer: Int, handshake: Instant, _ now: Instant
    ) {
        guard let chat = chatIndices[tag], let device = devices[identity]?.first, devices[identity]?.count == 1,
            hosts[device].incarnation == 1, !hosts[device].wasReverted, !hosts[viewer].wasReverted
        else { return }
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        guard let state = shown[id] else { return }
        // Nodes report failed messages before the presence (T-29). A link that was up for long is kept when it goes
        // down (L-84).
        let isKept = now - max(state.since, handshake) > Limits.shortestUp + .milliseconds(500)
        if state.presence != .offline, isKept { report(.hastyFailure, "\(describe(id)), shown until now", now) }
        // A person who has come back may have a new state, which L-84 forgets sooner.
        guard let left = state.left, left.isKept, now - left.at < .seconds(59),
            state.presence == .offline || handshake < left.at
        else { return }
        report(.hastyFailure, "\(describe(id)), silent for \(now - left.at)", now)
    }

    func isShownAway(_ identity: Int, in chat: Int, by viewer: Int) -> Bool {
        shown[PersonID(viewer: viewer, chat: chat, identity: identity)]?.presence == .away
    }

    /// Returns the name under which a person's only device is shown.
    func nameShown(_ identity: Int, in chat: Int, by viewer: Int) -> String? {
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        guard let shown = shown[id], let device = devices[identity]?.first else { return nil }
        return hosts[device].names[shown.name]
    }

    func isShownTyping(_ identity: Int, in chat: Int, by viewer: Int) -> Bool {
        typists[viewer]?.contains(PersonID(viewer: viewer, chat: chat, identity: identity)) ?? false
    }

    func typistsShown(by viewer: Int) -> Int { typists[viewer]?.count ?? 0 }

    /// Forgets what a node showed that ended or left a chat.
    mutating func forget(_ viewer: Int, chat: Int? = nil) {
        for id in shown.keys where id.viewer == viewer && (chat == nil || id.chat == chat) { shown[id] = nil }
        typists[viewer] = (typists[viewer] ?? []).filter { chat != nil && $0.chat != chat }
        forgetHeard(by: viewer, in: chat)
        guard chat == nil else { return }
        for id in newest.keys where id.viewer == viewer {
            newest[id] = nil
            newestStatus[id] = nil
        }
    }

    /// Resets a node that returned to a snapshot. The node forgot everything since then, and repeats itself.
    mutating func reverted(_ host: SimulatedHost, _ node: SimulatedNode, _ now: Instant) {
        forget(host.index)
        excused.insert(host.index)
        messages.reverted(host, now)
        for (tag, chat) in chatIndices.sorted(by: { $0.value < $1.value }) {
            for person in node.endpoint.present(in: tag) {
                guard let identity = identities[person.person.key] else { continue }
                let id = PersonID(viewer: host.index, chat: chat, identity: identity)
                shown[id] = Shown(presence: person.presence)
            }
            for person in node.endpoint.typing(in: tag) {
                guard let identity = identities[person.key] else { continue }
                let id = PersonID(viewer: host.index, chat: chat, identity: identity)
                typists[host.index, default: []].append(id)
                shown[id]?.isTyping = true
            }
        }
    }

    /// Forgets the evidence of a node that gave up all its links.
    mutating func forgetHeard(by viewer: Int, in chat: Int? = nil) {
        for id in heard.keys where id.viewer == viewer && (chat == nil || id.chat == chat) { heard[id] = nil }
    }

    /// Skips the next check of a node that was stopped, which could not update its display.
    mutating func pausedViewerWakes(_ viewer: Int) { excused.insert(viewer) }

    // MARK: Nonces

    /// Checks that no two different sealed datagrams share a nonce.
    mutating func sent(_ bytes: [UInt8], _ kind: DatagramKind, by sender: Int, _ now: Instant) {
        // A machine that returned to a snapshot repeats itself, including session indices.
        guard kind.isSealed, !hosts.contains(where: \.wasReverted) else { return }
        let header = SealedHeader(bytes)
        let id = NonceID(sender: sender, index: header.index, counter: header.counter)
        var hash = 0xCBF2_9CE4_8422_2325 as UInt64
        for byte in bytes.suffix(16) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digest = Int(truncatingIfNeeded: hash)
        if let before = nonces.updateValue(digest, forKey: id), before != digest {
            report(.reusedNonce, "host \(sender), index \(id.index), counter \(id.counter)", now)
        }
    }

    func describe(_ id: PersonID) -> String {
        "host \(id.viewer), chat \(id.chat), identity \(id.identity)"
    }
}
