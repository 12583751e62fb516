import InklingCore
import InklingWire

/// Compares what the nodes show with what people did and which datagrams arrived.
///
/// The checker takes the truth from the scenario alone: a node's own state proves nothing.
final class StateChecker {
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

    func report(_ rule: Violation.Rule, _ text: String, _ now: Instant) {
        if violation == nil { violation = Violation(rule: rule, at: now, text: text) }
    }

    /// Whether the run has an adversary.
    var isAttacked: Bool { adversary != nil }

    // MARK: Statuses

    /// Checks that a node shows no outdated typing. Called before and after each input of the node.
    func checkStatuses(of viewer: Int, _ now: Instant) {
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
    func heard(_ packet: Packet, in tag: ChatID, by viewer: Int, _ now: Instant) {
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
    func took(
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
    func typing(
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
    func failedBySilence(
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
        // A person who has come back may have a new state, which L-84 forgets sooner. A new state may also come up by a
        // pong, and end before it shows the person (L-80, L-84, L-86).
        guard let left = state.left, left.isKept, now - left.at < .seconds(59),
            state.presence == .offline
                ? !hasComeUp(DeviceID(viewer: viewer, chat: chat, host: device), after: left.at, now)
                : handshake < left.at
        else { return }
        report(.hastyFailure, "\(describe(id)), silent for \(now - left.at)", now)
    }

    /// Returns whether a link that went down at `instant` may have come up unseen since, and still waited for the
    /// peer's name until now. A viewer that was stopped waits for longer (L-89).
    private func hasComeUp(_ device: DeviceID, after instant: Instant, _ now: Instant) -> Bool {
        guard let pong = pongs[device], pong > instant else { return false }
        let viewer = hosts[device.viewer]
        let since = max(pong, viewer.wokeAt ?? .zero, viewer.lateAt ?? .zero)
        return now - since < Limits.pongAwaited + Limits.unnamedPeriod + lateness[device.viewer]
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
    func forget(_ viewer: Int, chat: Int? = nil) {
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
    func reverted(_ host: SimulatedHost, _ node: SimulatedNode, _ now: Instant) {
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
    func forgetHeard(by viewer: Int, in chat: Int? = nil) {
        for id in heard.keys where id.viewer == viewer && (chat == nil || id.chat == chat) { heard[id] = nil }
    }

    /// Skips the next check of a node that was stopped, which could not update its display.
    func pausedViewerWakes(_ viewer: Int) { excused.insert(viewer) }

    // MARK: Nonces

    /// Checks that no two different sealed datagrams share a nonce.
    func sent(_ bytes: [UInt8], _ kind: DatagramKind, by sender: Int, _ now: Instant) {
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

/// The people shown as present, and their presence.
extension StateChecker {
    /// Checks that a viewer shows no person who has been silent for longer than 3 s.
    ///
    /// - Parameter handshake: Returns when a host last sent the viewer a handshake. A replaced state keeps its person
    ///   shown for some time (L-103).
    func checkPresence(of viewer: SimulatedHost, _ now: Instant, handshake: (Int) -> Instant) {
        // A node that was stopped first asks its peers for signs of life.
        if let wokeAt = viewer.wokeAt, now - wokeAt < .seconds(4) { return }
        if let lateAt = viewer.lateAt, now - lateAt < .seconds(4) { return }
        // During an attack a timer may wait for the processor.
        var limit = silence + lateness[viewer.index] * 12 + (isAttacked ? .milliseconds(80) : .zero)
        // The checker cannot tell the sender of a handshake that went through a relay.
        if adversary?.plan.forgesFriends == true { limit += Limits.keptShown }
        for chat in viewer.chats.sorted() {
            for identity in devices.keys.sorted() {
                let id = PersonID(viewer: viewer.index, chat: chat, identity: identity)
                guard let state = shown[id], state.presence != .offline else { continue }
                let ids = devices[identity]?.map { DeviceID(viewer: viewer.index, chat: chat, host: $0) } ?? []
                let last = ids.flatMap { [lastSign[$0], revivals[$0]].compactMap { $0 } }.max()
                // A hello that waited in the socket shows a person, although it is no fresh sign of life (L-30).
                let since = max(last ?? state.since, devices[identity]?.map(handshake).max() ?? .zero)
                if now - since > limit { report(.ghost, "\(describe(id)), silent for \(now - since)", now) }
            }
        }
    }

    /// The longest time for which a person is shown after the last sign of life. With more than 50 links the intervals
    /// stretch.
    var silence: Duration {
        guard mostLinks > 50 else { return .milliseconds(3_010) }
        return max(.milliseconds(3_010), .milliseconds(mostLinks * 1_000 / 50) * 7 / 4 + .milliseconds(1_260))
    }

    /// The people shown as present, by identity.
    func shown(in chat: Int, by viewer: Int) -> Set<Int> {
        Set(
            devices.keys.filter {
                shown[PersonID(viewer: viewer, chat: chat, identity: $0)]?.presence ?? .offline != .offline
            })
    }

    /// Checks a report of a person's presence.
    ///
    /// - Parameter handshake: Returns when the last handshake of a host and the viewer went out.
    func presence(
        _ person: Person, in tag: ChatID, is presence: Presence, why: PresenceReason, by viewer: Int, _ now: Instant,
        handshake: (Int) -> Instant
    ) {
        guard let chat = chatIndices[tag], let identity = identities[person.key] else { return }
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        coverage.presences[why, default: 0] += 1
        checkName(person.name, of: id, now)
        if presence != .offline, shown[id]?.presence ?? .offline == .offline { checkRevival(of: id, now) }
        change(id) { state in
            if presence == .offline, state.presence != .offline {
                state.left = (now, why == .silence && now - state.since > Limits.shortestUp + .milliseconds(500))
            }
            if state.presence == .offline { state.since = now }
            state.presence = presence
        }
        guard presence == .offline else { return }
        // A viewer that leaves or was blocked reports its peer as offline for this reason.
        let isBlocked = devices[identity]?.contains {
            hosts[$0].hasLatelyBlocked(hosts[viewer].plan.identity, now)
        }
        guard !hosts[viewer].isGone(from: chat), isBlocked != true else { return }
        switch why {
        case .silence:
            // Silence takes 3.0 s: 1.75 intervals, and then ten pings.
            for host in devices[identity] ?? [] {
                // With several devices, one that has just come back may not have named itself again.
                let hasSeveral = devices[identity]?.count ?? 1 > 1
                let isBack = hasSeveral && now - hosts[host].disturbedAt < .seconds(2)
                let device = DeviceID(viewer: viewer, chat: chat, host: host)
                // While another device shows the person, a link may be down, or not named yet (L-80, L-85). A handshake
                // follows the first, then a pong, and the name.
                let isUp = isUp(device, since: handshake(host))
                let mayBeHidden = hasSeveral && (!isUp || namings[device].map { $0 <= handshake(host) } ?? true)
                guard !isBack, !mayBeHidden, let last = heard[device],
                    // A run that has not named itself is not shown. The run before it is gone.
                    shown[id].map({ $0.since > hosts[host].startedAt }) ?? true,
                    // A datagram of the current input came too late to prevent the report.
                    last.number > hosts[host].farewells[chat] ?? 0, last.at < now,
                    // A node that returned to a snapshot uses old counters, so its datagrams are no evidence (L-23).
                    !hosts[host].wasReverted, now - last.at < silence(of: host, now),
                    // A peer that reports that it hears nothing goes offline sooner (L-110).
                    unheard[device].map({ $0 < last.at }) ?? true
                else { continue }
                report(.falseOffline, "\(describe(id)), heard of host \(host) \(now - last.at) before", now)
            }
        case .bye, .removed, .will:
            // With two devices, a node may have heard from a device that it did not show.
            for host in devices[identity] ?? [] where devices[identity]?.count == 1 {
                guard let last = heard[DeviceID(viewer: viewer, chat: chat, host: host)] else { continue }
                guard last.number > hosts[host].farewells[chat] ?? 0, now - last.at < silence(of: host, now) else {
                    continue
                }
                report(.falseFarewell, "\(describe(id)) though host \(host) was heard after its farewell", now)
            }
            let isUnnamed = devices[identity]?.contains {
                unnamed[DeviceID(viewer: viewer, chat: chat, host: $0)] == now
            }
            if devices[identity]?.allSatisfy({ hosts[$0].farewells[chat] == nil }) ?? true, isUnnamed != true {
                report(.falseFarewell, "\(describe(id)) has said none", now)
            }
        case .full:
            // Only an adversary makes as many links as a node has room for. Friends always have room.
            if let plan = adversary?.plan, plan.standing == .stranger, chat != 2 { return }
            report(.falseOffline, "\(describe(id)), for want of room", now)
        case .replaced:
            checkLoss(of: identity, in: tag, by: viewer, now)
        case .hello, .back, .away, .blocked:
            break
        }
    }

    /// Checks that a node replaced a state because the other node had lost it. The other node then shows no person of
    /// that state (L-65, L-69). In large scenarios reports come too late for this check.
    func checkLoss(of identity: Int, in tag: ChatID, by viewer: Int, _ now: Instant) {
        guard let chat = chatIndices[tag] else { return }
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        // After a long sleep the sessions of a machine are erased (L-38).
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt < .seconds(15) { return }
        guard !isAttacked || adversary?.plan.forgesFriends == true, hosts.count <= Limits.lists,
            !hosts.contains(where: \.wasReverted), let owners = devices[id.identity], owners.count == 1,
            devices[hosts[id.viewer].plan.identity]?.count == 1, hosts[owners[0]].isActive, let before = shown[id]
        else { return }
        let mirror = PersonID(viewer: owners[0], chat: id.chat, identity: hosts[id.viewer].plan.identity)
        guard let state = shown[mirror], state.presence != .offline, state.since <= before.since + .seconds(3),
            state.left.map({ $0.at < before.since }) ?? true,
            // Afterwards the other node may show the person by the new state, and have lost the old one before (L-103).
            state.since + Limits.keptShown + lateness[viewer] < now
        else { return }
        report(.falseOffline, "\(describe(id)), replaced though host \(owners[0]) has lost nothing", now)
    }

    /// Checks that a person appears only shortly after a pong: datagrams that were held back revive no person (L-80). A
    /// name may follow up to 10 s later (L-86), and reports may be delayed a little.
    func checkRevival(of id: PersonID, _ now: Instant) {
        let limit = Limits.pongAwaited + Limits.unnamedPeriod + .seconds(2) + lateness[id.viewer]
        let hasAnswered = devices[id.identity]?.contains { host in
            pongs[DeviceID(viewer: id.viewer, chat: id.chat, host: host)].map { now - $0 < limit } ?? false
        }
        if let wokeAt = hosts[id.viewer].wokeAt, now - wokeAt < .seconds(15) { return }
        if hasAnswered != true { report(.revival, describe(id), now) }
    }

    /// Checks that a person's shown name is one that the person took, and not older than the name shown before (M-24).
    func checkName(_ name: String, of id: PersonID, _ now: Instant) {
        guard let owners = devices[id.identity], owners.count == 1 else { return }
        let names = hosts[owners[0]].names
        guard let place = names.firstIndex(of: name) else {
            return report(.wrongName, "\(describe(id)), as \(name)", now)
        }
        // When the link of a new run ends soon, the link of the run before may still show, for 3 s.
        let isSecondRun = hosts[owners[0]].incarnation > 1
        let since = max(hosts[owners[0]].startedAt, hosts[id.viewer].wokeAt ?? .zero)
        if isSecondRun, now - since < .seconds(4) { return change(id) { $0.name = place } }
        if let before = shown[id]?.name, place < before, !hosts[owners[0]].wasReverted, !hosts[id.viewer].wasReverted {
            report(.wrongName, "\(describe(id)), as \(name) after \(names[before])", now)
        }
        change(id) { $0.name = place }
    }

    /// Expects that a viewer shows a farewell that nothing delays.
    func expectDeparture(_ departure: Departure, identity: Int) {
        let id = PersonID(viewer: departure.viewer, chat: departure.chat, identity: identity)
        guard let shown = shown[id], shown.presence != .offline, departure.at - shown.since > .seconds(2) else {
            return
        }
        departures.append(departure)
    }

    /// Checks that people are shown as gone after their farewells. Pairs with a disturbed or restarted node are left
    /// out.
    func checkDepartures(_ now: Instant) {
        guard let first = departures.first, first.due <= now else { return }
        for departure in departures where departure.due <= now {
            let (host, viewer) = (hosts[departure.host], hosts[departure.viewer])
            let id = PersonID(viewer: viewer.index, chat: departure.chat, identity: host.plan.identity)
            guard host.isGone(from: departure.chat), host.incarnation == departure.incarnation,
                host.disturbedAt <= departure.at, viewer.isActive, !viewer.isUnplugged,
                viewer.disturbedAt <= departure.at, viewer.chats.contains(departure.chat)
            else { continue }
            // A late hello may have brought the person back, for 3 s.
            if let state = shown[id], state.presence != .offline, state.since <= departure.at {
                report(.lostFarewell, "\(describe(id)), \(now - departure.at) after it", now)
            }
        }
        departures.removeAll { $0.due <= now }
    }

    /// Returns the shortest silence after which a node may report a host as offline. A further run or device of the
    /// identity makes a node ping the others at once. Then only the time of ten pings is left to answer.
    func silence(of host: Int, _ now: Instant) -> Duration {
        let hasStarted = hosts[host].incarnation > 1 && now - hosts[host].startedAt < .seconds(10)
        let hasOthers = devices[hosts[host].plan.identity]?.count ?? 1 > 1 || hasStarted
        return hasOthers ? .milliseconds(1_200) : .milliseconds(2_900)
    }

    func change(_ id: PersonID, _ body: (inout Shown) -> Void) {
        var state = shown[id] ?? Shown()
        let before = state.visible
        body(&state)
        shown[id] = state
        let after = state.visible
        guard before != after else { return }
        coverage.states[after, default: 0] += 1
        coverage.edges[.init(from: before, to: after), default: 0] += 1
    }
}
