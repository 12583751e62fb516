import InklingCore
import InklingWire

/// The people shown as present, and their presence.
extension StateChecker {
    /// Nobody is shown as present who has been silent for longer than 3 s.
    ///
    /// - Parameter handshake: When a host last sent the viewer a handshake: a state that is replaced then keeps its
    ///   person shown (L-103).
    mutating func checkPresence(of viewer: SimulatedHost, _ now: Instant, handshake: (Int) -> Instant) {
        // A node that was stopped first asks for signs of life.
        if let wokeAt = viewer.wokeAt, now - wokeAt < .seconds(4) { return }
        if let lateAt = viewer.lateAt, now - lateAt < .seconds(4) { return }
        // Beside an adversary a timer may have to wait for the processor.
        var limit = silence + lateness[viewer.index] * 12 + (isAttacked ? .milliseconds(80) : .zero)
        // Handshakes that go through relays are seen to come from nobody.
        if adversary?.plan.forgesFriends == true { limit += Limits.keptShown }
        for chat in viewer.chats.sorted() {
            for identity in devices.keys.sorted() {
                let id = PersonID(viewer: viewer.index, chat: chat, identity: identity)
                guard let state = shown[id], state.presence != .offline else { continue }
                let last = devices[identity]?.compactMap {
                    lastSign[DeviceID(viewer: viewer.index, chat: chat, host: $0)]
                }.max()
                // A hello that had waited shows somebody, and is not a sign of life (L-30).
                let since = max(last ?? state.since, devices[identity]?.map(handshake).max() ?? .zero)
                if now - since > limit { report(.ghost, "\(describe(id)), silent for \(now - since)", now) }
            }
        }
    }

    /// How long somebody is shown at most after the last sign of life. With more than 50 links the intervals stretch.
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

    mutating func presence(
        _ person: Person, in tag: ChatID, is presence: Presence, why: PresenceReason, by viewer: Int, _ now: Instant
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
        // That it takes leave itself, or was blocked, is no fault of anybody's.
        let isBlocked = devices[identity]?.contains {
            hosts[$0].hasLatelyBlocked(hosts[viewer].plan.identity, now)
        }
        guard !hosts[viewer].isGone(from: chat), isBlocked != true else { return }
        switch why {
        case .silence:
            // 1.75 intervals of silence, then ten pings: 3.0 s.
            for host in devices[identity] ?? [] {
                // Of several devices, one that has just come back may not have named itself again.
                let isBack = devices[identity]?.count ?? 1 > 1 && now - hosts[host].disturbedAt < .seconds(2)
                guard !isBack, let last = heard[DeviceID(viewer: viewer, chat: chat, host: host)],
                    // A run that has not named itself is not shown, and the one before is gone.
                    shown[id].map({ $0.since > hosts[host].startedAt }) ?? true,
                    // A datagram of this very input came too late.
                    last.number > hosts[host].farewells[chat] ?? 0, last.at < now,
                    // The counters of a node that is what it was before are old: nothing is evidence (L-23).
                    !hosts[host].wasReverted, now - last.at < silence(of: host, now),
                    // A peer that said since that it hears nothing is gone sooner (L-45).
                    unheard[DeviceID(viewer: viewer, chat: chat, host: host)].map({ $0 < last.at }) ?? true
                else { continue }
                report(.falseOffline, "\(describe(id)), heard of host \(host) \(now - last.at) before", now)
            }
        case .bye, .will:
            // Of two devices one may have been heard of without having been shown.
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
            // No scenario has nearly as many links as a node has room for, but by an adversary; friends have it always.
            if let plan = adversary?.plan, plan.standing == .stranger, chat != 2 { return }
            report(.falseOffline, "\(describe(id)), for want of room", now)
        case .replaced:
            checkLoss(of: identity, in: tag, by: viewer, now)
        case .hello, .back, .away, .blocked:
            break
        }
    }

    /// A state is replaced when the other end has lost it, and shows nobody of it any more (L-65, L-69). Reports of
    /// many take their time.
    mutating func checkLoss(of identity: Int, in tag: ChatID, by viewer: Int, _ now: Instant) {
        guard let chat = chatIndices[tag] else { return }
        let id = PersonID(viewer: viewer, chat: chat, identity: identity)
        // The sessions of a machine that slept for long are over (L-38).
        if let wokeAt = hosts[viewer].wokeAt, now - wokeAt < .seconds(15) { return }
        guard !isAttacked || adversary?.plan.forgesFriends == true, hosts.count <= Limits.lists,
            !hosts.contains(where: \.wasReverted), let owners = devices[id.identity], owners.count == 1,
            devices[hosts[id.viewer].plan.identity]?.count == 1, hosts[owners[0]].isActive, let before = shown[id]
        else { return }
        let mirror = PersonID(viewer: owners[0], chat: id.chat, identity: hosts[id.viewer].plan.identity)
        guard let state = shown[mirror], state.presence != .offline, state.since <= before.since + .seconds(3),
            state.left.map({ $0.at < before.since }) ?? true
        else { return }
        report(.falseOffline, "\(describe(id)), replaced though host \(owners[0]) has lost nothing", now)
    }

    /// Checks that a person comes to be shown only shortly after a pong: datagrams held back revive nobody (L-80). A
    /// name may follow up to 10 s later (L-86), and a report has its pace.
    mutating func checkRevival(of id: PersonID, _ now: Instant) {
        let limit = Limits.pongAwaited + Limits.unnamedPeriod + .seconds(2) + lateness[id.viewer]
        let hasAnswered = devices[id.identity]?.contains { host in
            pongs[DeviceID(viewer: id.viewer, chat: id.chat, host: host)].map { now - $0 < limit } ?? false
        }
        if let wokeAt = hosts[id.viewer].wokeAt, now - wokeAt < .seconds(15) { return }
        if hasAnswered != true { report(.revival, describe(id), now) }
    }

    /// Somebody is shown under a name that they have taken, and never under an older one than before (M-24).
    mutating func checkName(_ name: String, of id: PersonID, _ now: Instant) {
        guard let owners = devices[id.identity], owners.count == 1 else { return }
        let names = hosts[owners[0]].names
        guard let place = names.firstIndex(of: name) else {
            return report(.wrongName, "\(describe(id)), as \(name)", now)
        }
        // When the link of a new run ends soon, the one of the run before may still show, for 3 s.
        let isSecondRun = hosts[owners[0]].incarnation > 1
        let since = max(hosts[owners[0]].startedAt, hosts[id.viewer].wokeAt ?? .zero)
        if isSecondRun, now - since < .seconds(4) { return change(id) { $0.name = place } }
        if let before = shown[id]?.name, place < before, !hosts[owners[0]].wasReverted, !hosts[id.viewer].wasReverted {
            report(.wrongName, "\(describe(id)), as \(name) after \(names[before])", now)
        }
        change(id) { $0.name = place }
    }

    /// Somebody has said farewell, and nothing keeps it from one who shows them.
    mutating func expectDeparture(_ departure: Departure, identity: Int) {
        let id = PersonID(viewer: departure.viewer, chat: departure.chat, identity: identity)
        guard let shown = shown[id], shown.presence != .offline, departure.at - shown.since > .seconds(2) else {
            return
        }
        departures.append(departure)
    }

    /// Checks that people who said farewell long enough ago are shown as gone, unless one of the two came back or was
    /// hindered.
    mutating func checkDepartures(_ now: Instant) {
        guard let first = departures.first, first.due <= now else { return }
        for departure in departures where departure.due <= now {
            let (host, viewer) = (hosts[departure.host], hosts[departure.viewer])
            let id = PersonID(viewer: viewer.index, chat: departure.chat, identity: host.plan.identity)
            guard host.isGone(from: departure.chat), host.incarnation == departure.incarnation,
                host.disturbedAt <= departure.at, viewer.isActive, !viewer.isUnplugged,
                viewer.disturbedAt <= departure.at, viewer.chats.contains(departure.chat)
            else { continue }
            // A hello that came late may have brought them back, for 3 s.
            if let state = shown[id], state.presence != .offline, state.since <= departure.at {
                report(.lostFarewell, "\(describe(id)), \(now - departure.at) after it", now)
            }
        }
        departures.removeAll { $0.due <= now }
    }

    /// How long somebody may not have been heard of at least who is declared down. A further run of an identity makes
    /// the others answer for themselves at once: then ten pings are all the time they have.
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
