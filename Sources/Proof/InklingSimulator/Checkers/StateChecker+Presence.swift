import InklingCore
import InklingWire

/// The people shown as present, and their presence.
extension StateChecker {
    /// Checks that a viewer shows no person who has been silent for longer than 3 s.
    ///
    /// - Parameter handshake: Returns when a host last sent the viewer a handshake. A replaced state keeps its person
    ///   shown for some time (L-103).
    mutating func checkPresence(of viewer: SimulatedHost, _ now: Instant, handshake: (Int) -> Instant) {
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
    mutating func presence(
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
                    // A peer that reports that it hears nothing goes offline sooner (L-45).
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
    mutating func checkLoss(of identity: Int, in tag: ChatID, by viewer: Int, _ now: Instant) {
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
    mutating func checkRevival(of id: PersonID, _ now: Instant) {
        let limit = Limits.pongAwaited + Limits.unnamedPeriod + .seconds(2) + lateness[id.viewer]
        let hasAnswered = devices[id.identity]?.contains { host in
            pongs[DeviceID(viewer: id.viewer, chat: id.chat, host: host)].map { now - $0 < limit } ?? false
        }
        if let wokeAt = hosts[id.viewer].wokeAt, now - wokeAt < .seconds(15) { return }
        if hasAnswered != true { report(.revival, describe(id), now) }
    }

    /// Checks that a person's shown name is one that the person took, and not older than the name shown before (M-24).
    mutating func checkName(_ name: String, of id: PersonID, _ now: Instant) {
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
    mutating func expectDeparture(_ departure: Departure, identity: Int) {
        let id = PersonID(viewer: departure.viewer, chat: departure.chat, identity: identity)
        guard let shown = shown[id], shown.presence != .offline, departure.at - shown.since > .seconds(2) else {
            return
        }
        departures.append(departure)
    }

    /// Checks that people are shown as gone after their farewells. Pairs with a disturbed or restarted node are left
    /// out.
    mutating func checkDepartures(_ now: Instant) {
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

    mutating func change(_ id: PersonID, _ body: (inout Shown) -> Void) {
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
