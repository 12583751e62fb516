import InklingCore
import InklingWire

/// Holds what the nodes show against what people truly did and what truly arrived.
///
/// The checker takes the truth from the scenario alone: a node's own state proves nothing.
struct StateChecker {
    /// How one node shows one person in one chat.
    struct Shown {
        var presence = Presence.offline
        /// Since when not offline.
        var since = Instant.zero
        var isTyping = false
        /// Since when offline again, and whether a link had been up for long enough then to be kept (L-84).
        var left: (at: Instant, isKept: Bool)?
        /// The place of the name among those of a person with one device.
        var name = 0

        var visible: Coverage.PersonState { .init(presence: presence, isTyping: isTyping) }
    }

    /// A farewell that one viewer has to show.
    struct Departure {
        let host: Int
        /// Which start of its node said it.
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

    /// The datagrams of one run of a node in a chat as another node gets them: sessions share their order (L-23).
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
    /// The people shown as typing, for each viewer, so that a check costs nothing while nobody is.
    var typists: [Int: [PersonID]] = [:]
    /// When the last evidence of a typing status reached a viewer.
    var evidence: [PersonID: Instant] = [:]
    /// When a device was last heard of, with the number of that datagram.
    var heard: [DeviceID: (at: Instant, number: UInt64)] = [:]
    /// When a device may last have said that it hears nothing.
    var unheard: [DeviceID: Instant] = [:]
    /// When a device last said bye to a viewer who had not named itself there (L-86).
    var unnamed: [DeviceID: Instant] = [:]
    /// When the last datagram of a device came, in any order.
    var lastSign: [DeviceID: Instant] = [:]
    var newest: [StateID: UInt64] = [:]
    var newestStatus: [StateID: UInt64] = [:]
    var nonces: [NonceID: Int] = [:]
    var departures: [Departure] = []
    /// When a record came to a viewer last, which may have named a link.
    var lastRecord: [Int: Instant] = [:]
    /// When the newest pong of a device was sent that came to a viewer (L-80).
    var pongs: [DeviceID: Instant] = [:]
    /// The viewers whose next check says nothing of them.
    var excused: Set<Int> = []
    let hosts: [SimulatedHost]
    let chatIndices: [ChatID: Int]
    /// How late a viewer's own timers may be.
    let lateness: [Duration]
    /// How long a stop of a viewer may take that its node does not notice: at most one heartbeat interval and what
    /// counts as late.
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

    /// Whether somebody attacks in this run.
    var isAttacked: Bool { adversary != nil }

    // MARK: Statuses

    /// Before and after each input of a node: nothing that it shows is too old.
    mutating func checkStatuses(of viewer: Int, _ now: Instant) {
        guard excused.remove(viewer) == nil, let typists = typists[viewer], !typists.isEmpty else { return }
        // A node that was stopped first reads what waited in its socket (L-30), and a list may wait (T-22).
        let pace = hosts.count > Limits.lists ? Duration.milliseconds(50) : .zero
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt <= pace { return }
        var limit = Limits.typingExpiry + lateness[viewer]
        // A list may have to wait for those before it (T-22), and beside an adversary a timer for the processor.
        if adversary != nil {
            limit += .milliseconds(80)
        } else if hosts.count > Limits.lists {
            limit += .milliseconds(50)
        }
        // A woken node takes a waiting datagram in its socket for fresh.
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt <= limit { limit += unnoticed[viewer] }
        for person in typists {
            let age = evidence[person].map { now - $0 }
            if age.map({ $0 > limit }) ?? true {
                report(.staleTyping, "\(describe(person)); evidence \(age.map { "\($0)" } ?? "never")", now)
            }
        }
    }

    /// A sealed datagram was a sign of life.
    mutating func heard(_ packet: Packet, in tag: ChatID, by viewer: Int, _ now: Instant) {
        guard let chat = chatIndices[tag], packet.session != nil else { return }
        // Evidence is newer than all before it in its state (L-23).
        let state = StateID(viewer: viewer, chat: chat, sender: packet.sender, incarnation: packet.incarnation)
        guard newest[state].map({ packet.number >= $0 }) ?? true else { return }
        lastSign[DeviceID(viewer: viewer, chat: chat, host: packet.sender)] = now
    }

    /// A sealed datagram arrived and the node took it.
    ///
    /// - Returns: Whether it has a status that is newer than all that came in its state before.
    mutating func took(
        _ packet: Packet, in tag: ChatID, by viewer: Int, arrivedAt: Instant, isNew: Bool, _ now: Instant
    ) -> Bool {
        guard let chat = chatIndices[tag], packet.session != nil, packet.isGenuine else { return false }
        let state = StateID(viewer: viewer, chat: chat, sender: packet.sender, incarnation: packet.incarnation)
        // A pong of 31 bytes carries no record beside it (L-82).
        if packet.kind == .record || packet.kind == .pong && packet.bytes.count > 31 { lastRecord[viewer] = now }
        let isNewest = newest[state].map { packet.number > $0 } ?? true
        if isNewest { newest[state] = packet.number }
        let device = DeviceID(viewer: viewer, chat: chat, host: packet.sender)
        if packet.kind == .pong { pongs[device] = max(pongs[device] ?? .zero, packet.sentAt) }
        let isShown = packet.shows & 1 << UInt8(chat) != 0
        let isOneOfSeveral = devices[hosts[viewer].plan.identity]?.count ?? 1 > 1
        if packet.kind == .bye, !isShown || isOneOfSeveral { unnamed[device] = now }
        // A status may say that nothing is heard (L-44): no sign of life.
        let hasStatus = packet.kind.hasStatus(size: packet.bytes.count)
        // Of a viewer with several devices, another one may be shown, and a status may say so all the same.
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
        if packet.typing & 1 << UInt8(chat) != 0 { evidence[person] = max(evidence[person] ?? arrivedAt, arrivedAt) }
        return true
    }

    /// A node reported who is typing.
    ///
    /// - Parameter cause: The datagram of the input, if the node accepted the datagram and it was the newest of its
    ///   session.
    ///
    /// - Returns: The identities that are shown no more, each with the chat.
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
            // With many changes a list comes late, and so does a person who came back at once (T-22).
            let waits: Duration =
                adversary != nil
                ? .milliseconds(1_080)
                : hosts.count > Limits.lists ? .milliseconds(50) + lateness[viewer] : .zero
            // Statuses that came before the name count, and show with it (L-85).
            let isJustShown = shown[id].map { now - $0.since <= waits } ?? false
            if lastRecord[viewer] == now || isJustShown, let evidence = evidence[id],
                now - evidence < Limits.typingExpiry
            {
                continue
            }
            // A node that was stopped shows such a list once it runs again.
            if waits > .zero, let evidence = evidence[id], now - max(evidence, hosts[viewer].wokeAt ?? .zero) <= waits {
                continue
            }
            let isTrue = cause.map { hosts[$0.sender].plan.identity == identity && $0.typing & 1 << UInt8(chat) != 0 }
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

    /// Since when somebody is shown as online or away; nil if not.
    func shownSince(_ identity: Int, in chat: Int, by viewer: Int) -> Instant? {
        guard let shown = shown[PersonID(viewer: viewer, chat: chat, identity: identity)], shown.presence != .offline
        else { return nil }
        return shown.since
    }

    /// The chats in which somebody is shown as online or away, as bits.
    func chatsShown(of identity: Int, by viewer: Int) -> UInt8 {
        chatIndices.values.reduce(0) { bits, chat in
            shownSince(identity, in: chat, by: viewer) == nil ? bits : bits | 1 << UInt8(chat)
        }
    }

    /// A message failed because its person is silent: not sooner than 60 s after the link went down (L-83).
    ///
    /// - Parameter handshake: When the last handshake between the two went out: a state may have begun with it.
    mutating func failedBySilence(
        to identity: Int, in tag: ChatID, by viewer: Int, handshake: Instant, _ now: Instant
    ) {
        guard let chat = chatIndices[tag], let device = devices[identity]?.first, devices[identity]?.count == 1,
            hosts[device].incarnation == 1, !hosts[device].wasReverted, !hosts[viewer].wasReverted
        else { return }
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        guard let state = shown[id] else { return }
        // Failed messages come before the presence (T-29). A link that was up for long is kept once down (L-84).
        let isKept = now - max(state.since, handshake) > Limits.shortestUp + .milliseconds(500)
        if state.presence != .offline, isKept { report(.hastyFailure, "\(describe(id)), shown until now", now) }
        // A person who came back since may have a new state, which L-84 forgets sooner.
        guard let left = state.left, left.isKept, now - left.at < .seconds(59),
            state.presence == .offline || handshake < left.at
        else { return }
        report(.hastyFailure, "\(describe(id)), silent for \(now - left.at)", now)
    }

    func isShownAway(_ identity: Int, in chat: Int, by viewer: Int) -> Bool {
        shown[PersonID(viewer: viewer, chat: chat, identity: identity)]?.presence == .away
    }

    /// The name under which the only device of somebody is shown.
    func nameShown(_ identity: Int, in chat: Int, by viewer: Int) -> String? {
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        guard let shown = shown[id], let device = devices[identity]?.first else { return nil }
        return hosts[device].names[shown.name]
    }

    func isShownTyping(_ identity: Int, in chat: Int, by viewer: Int) -> Bool {
        typists[viewer]?.contains(PersonID(viewer: viewer, chat: chat, identity: identity)) ?? false
    }

    func typistsShown(by viewer: Int) -> Int { typists[viewer]?.count ?? 0 }

    /// Forgets the state of a node that ended or left a chat: such a node shows nothing any more.
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

    /// Resets a node that returned to a snapshot: the node forgot all that it showed since, and repeats itself.
    mutating func reverted(_ host: SimulatedHost, _ node: SimulatedNode) {
        forget(host.index)
        excused.insert(host.index)
        messages.reverted(host)
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

    /// A node gave up all its links.
    mutating func forgetHeard(by viewer: Int, in chat: Int? = nil) {
        for id in heard.keys where id.viewer == viewer && (chat == nil || id.chat == chat) { heard[id] = nil }
    }

    /// A node that was stopped could not help what it showed meanwhile.
    mutating func pausedViewerWakes(_ viewer: Int) { excused.insert(viewer) }

    // MARK: Nonces

    /// A node sent a datagram: no two that are sealed have one nonce.
    mutating func sent(_ bytes: [UInt8], _ kind: DatagramKind, by sender: Int, _ now: Instant) {
        // A machine that is what it was before repeats itself, indices that it gives out included.
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
