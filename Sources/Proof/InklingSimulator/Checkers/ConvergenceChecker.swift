import InklingCore
import InklingWire

/// Checks the rules that hold once the network has no more faults, and at the end of the run.
struct ConvergenceChecker {
    private enum Phase {
        case faults
        /// The nodes have until then to agree.
        case converging(until: Instant)
        /// Everybody types; until then all others have to show it.
        case typing(until: Instant)
        /// Everybody has sent a message; until then every one has to be shown.
        case sending(until: Instant)
        /// Every message has to have its report, however old.
        case settling(until: Instant)
        case done
    }

    private let calmAt: Instant
    private var phase = Phase.faults
    private var lastMessages: [Int] = []

    init(calmAt: Instant) { self.calmAt = calmAt }

    var isDone: Bool {
        if case .done = phase { true } else { false }
    }

    mutating func check(_ simulation: Simulation) {
        let now = simulation.now
        switch phase {
        case .faults:
            guard !simulation.hasFaults, now >= calmAt else { return }
            phase = .converging(until: calmAt + simulation.patience)
        case .converging(let until):
            let disagreements = simulation.disagreements()
            if disagreements.isEmpty, simulation.nobodyIsShownTyping {
                for host in simulation.speakers {
                    host.chats.sorted().forEach { simulation.act(host, .edit(chat: $0)) }
                }
                phase = .typing(until: now + .milliseconds(750))
            } else if now >= until {
                let text = disagreements.first ?? "typing is still shown"
                simulation.checker.report(.divergence, "\(disagreements.count): \(text)", now)
            }
        case .typing(let until):
            guard now >= until else { return }
            if let missing = simulation.missingTypist() {
                guard now < calmAt + simulation.patience else {
                    simulation.checker.report(.divergence, missing, now)
                    return
                }
                // They agree on who is there, and a link has yet to find out that the other end has moved.
                for host in simulation.speakers {
                    host.chats.sorted().forEach { simulation.act(host, .empty(chat: $0)) }
                }
                phase = .converging(until: calmAt + simulation.patience)
                return
            }
            let first = simulation.checker.messages.sent.count
            for host in simulation.speakers {
                host.chats.sorted().forEach { simulation.act(host, .send(chat: $0, size: 40)) }
            }
            lastMessages = Array(first..<simulation.checker.messages.sent.count)
            phase = .sending(until: now + .seconds(1))
        case .sending(let until):
            guard now >= until else { return }
            let missing = simulation.missing(lastMessages)
            if !missing.isEmpty, now < calmAt + simulation.patience {
                // Two sides that agree on presence may still have different sending sessions. If that has cost a
                // message, the next message has to arrive.
                if missing.contains(where: { $0.outcome == .failed }) {
                    phase = .converging(until: calmAt + simulation.patience)
                }
                return
            }
            // In a stream that losses have held up, older messages come first.
            if let lost = missing.first(where: { !simulation.isHeldUp($0) }) {
                let text = "\(lost.message.text) is not shown to identity \(lost.identity), but \(lost.outcome)"
                simulation.checker.report(.divergence, text, now)
            }
            // A message on a link that was down fails when the node forgets the link (L-83).
            phase = .settling(until: now + .seconds(75))
        case .settling(let until):
            // Of a node that ended without a word a status may be left, for its 3 s.
            guard simulation.nobodyIsShownTyping else {
                if now >= until + .seconds(-71) {
                    simulation.checker.report(.divergence, "typing outlives its message", now)
                }
                return
            }
            if let open = simulation.checker.messages.firstOpen(simulation.hosts) {
                if now >= until { simulation.checker.report(.lostMessage, "no report of \(open.text.prefix(24))", now) }
                return
            }
            simulation.checkLeftovers()
            phase = .done
        case .done:
            return
        }
    }
}

extension Simulation {
    /// How long the nodes have to agree. A peer without news from discovery is tried once a minute when it was
    /// away for long (L-5).
    var patience: Duration {
        let isFoundAnew = scenario.network.isFoundAnew && !scenario.network.isByHand
        // Of a partition neither side's discovery has noticed anything.
        let isParted = scenario.steps.contains { step in
            if case .partition(_, let length) = step.action { length >= 90_000 } else { false }
        }
        // The signs of a machine that is what it was before may come late: then its links go down (L-93 to L-95).
        if hosts.contains(where: \.wasReverted) { return .seconds(80) }
        // The links of an adversary that goes without a word are there for up to 8.3 s.
        if adversary != nil { return .seconds(16) }
        return .seconds((!isFoundAnew || isParted) && scenario.faultsEnd > 80_000 ? 80 : 10)
    }

    /// Whose typing and messages are tried when all have converged: a few of many.
    var speakers: [SimulatedHost] { Array(hosts.filter(\.isActive).prefix(6)) }

    var nobodyIsShownTyping: Bool { hosts.allSatisfy { checker.typistsShown(by: $0.index) == 0 } }

    /// Where what nodes show of presence differs from who is there.
    func disagreements() -> [String] {
        var disagreements: [String] = []
        for viewer in hosts where viewer.isActive {
            for chat in viewer.chats.sorted() {
                let expected = Set(others(of: viewer, in: chat).map(\.key))
                let required = Set(surelySeen(by: viewer, in: chat).map(\.key))
                let shown = viewer.node?.endpoint.present(in: Simulation.chats[chat].id) ?? []
                let keys = Set(shown.map(\.person.key))
                let (absent, surplus) = (required.subtracting(keys), keys.subtracting(expected))
                if !absent.isEmpty || !surplus.isEmpty {
                    let missing = hosts.filter { absent.contains($0.key) }.map(\.index)
                    let extra = hosts.filter { surplus.contains($0.key) }.map(\.index)
                    disagreements.append("host \(viewer.index), chat \(chat): missing \(missing), gone \(extra)")
                }
                let identities = checker.shown(in: chat, by: viewer.index)
                let reported = Set(hosts.filter { identities.contains($0.plan.identity) }.map(\.key))
                if reported != keys { disagreements.append("host \(viewer.index), chat \(chat): reported others") }
                let devicesOfKey = Dictionary(grouping: others(of: viewer, in: chat), by: \.key)
                for person in shown where expected.contains(person.person.key) {
                    let devices = devicesOfKey[person.person.key] ?? []
                    let isAway = devices.allSatisfy { $0.node?.isAway ?? false }
                    if (person.presence == .away) != isAway {
                        disagreements.append("host \(viewer.index), chat \(chat): \(devices.map(\.index)) away or not")
                    }
                    // The record of a name may have gone to a node that is what it was before.
                    let wasReverted = viewer.wasReverted || devices.contains(where: \.wasReverted)
                    if !wasReverted, !devices.contains(where: { $0.name == person.person.name }) {
                        let names = "\(devices.map(\.name)) shown as \(person.person.name)"
                        disagreements.append("host \(viewer.index), chat \(chat): \(names)")
                    }
                }
            }
        }
        return disagreements
    }

    /// The hosts that a host should see in a chat.
    private func others(of viewer: SimulatedHost, in chat: Int) -> [SimulatedHost] {
        hosts.filter { other in
            other.isActive && other.chats.contains(chat) && other.plan.identity != viewer.plan.identity
                && !viewer.blocks(other.plan.identity) && !other.blocks(viewer.plan.identity)
                && (!scenario.network.isByHand || other.index == 0 || viewer.index == 0)
        }
    }

    private func surelySeen(by viewer: SimulatedHost, in chat: Int) -> [SimulatedHost] {
        let others = others(of: viewer, in: chat)
        guard !crowds.isEmpty else { return others }
        return others.filter {
            !mayBeOverlooked(viewer, by: $0, in: chat) && !mayBeOverlooked($0, by: viewer, in: chat)
        }
    }

    /// Of a user with more devices than are kept of one key (D-9), one is overlooked that rests after a farewell
    /// (L-35).
    private func mayBeOverlooked(_ device: SimulatedHost, by other: SimulatedHost, in chat: Int) -> Bool {
        crowds.contains(device.plan.identity)
            && (other.farewells[chat] != nil || other.blocks[device.plan.identity] != nil)
    }

    /// A message that somebody who is there was not shown.
    struct Missing {
        let message: MessageLedger.Sent
        let identity: Int
        let outcome: MessageLedger.Outcome
    }

    /// Only intended receivers who are present count. A late hello may show somebody who has left for 3 s more.
    func missing(_ messages: [Int]) -> [Missing] {
        messages.map { checker.messages.sent[$0] }.flatMap { message in
            let present = Set(others(of: hosts[message.host], in: message.chat).map(\.plan.identity))
            return message.outcomes.sorted { $0.key < $1.key }
                .filter { present.contains($0.key) && !message.shownTo.contains($0.key) }
                .map { Missing(message: message, identity: $0.key, outcome: $0.value) }
        }
    }

    /// Whether an older message of the same stream has no answer yet.
    func isHeldUp(_ missing: Missing) -> Bool {
        let message = missing.message
        return missing.outcome == .open
            && checker.messages.sent.contains {
                $0.host == message.host && $0.incarnation == message.incarnation && $0.chat == message.chat
                    && $0.number < message.number && $0.outcomes[missing.identity] == .open
            }
    }

    func missingTypist() -> String? {
        for writer in speakers where writer.plan.sendsTyping {
            for chat in writer.chats.sorted() {
                for viewer in surelySeen(by: writer, in: chat)
                where !checker.isShownTyping(writer.plan.identity, in: chat, by: viewer.index) {
                    return "host \(viewer.index) does not show host \(writer.index) typing in chat \(chat)"
                }
            }
        }
        return nil
    }

    /// In the end the tables hold what is needed and no more.
    func checkLeftovers() {
        for host in hosts {
            guard let sizes = host.node?.endpoint.tableSizes else { continue }
            let peers = host.chats.map { others(of: host, in: $0).count }.reduce(0, +)
            // Down links of an adversary have theirs for 60 s, and so has a node whose old links nobody has any more.
            if sizes.messages != 0, adversary == nil, !host.wasReverted {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.messages) messages", now)
            }
            // Handshakes that the faults left behind last for 5 s more at most (L-12).
            let isCalm = now - (.zero + .milliseconds(scenario.calmAt)) > .seconds(12)
            if host.isActive, isCalm, sizes.sessions > sizes.links * Limits.sessionsPerLink + 4 {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.sessions) sessions", now)
            }
            // Those that a crash left behind in discovery stay, and so do peers known by hand and where they went.
            let advertised = (Array(instances.values) + Array(withdrawn.values)).count { host.chats.contains($0.chat) }
            // Where links led that a suspension ended is kept for 90 s (L-88).
            let strange = adversary.map { Limits.addressesAsked + Limits.linksPerSource + $0.mostLinks } ?? 0
            if host.isActive, sizes.instances > advertised + 4 * hosts.count + strange {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.instances) instances", now)
            }
            // Down links stay for 60 s, those of an adversary too (L-83).
            if host.isActive, adversary == nil, sizes.links > Limits.linksPerKey * (peers + 1) {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.links) links to \(peers) peers", now)
            }
        }
    }
}
