import InklingCore
import InklingWire

/// Checks the rules that hold after the network's faults have ended, and at the end of the run.
struct ConvergenceChecker {
    private enum Phase {
        case faults
        /// The nodes must agree on presence before ``agreement``.
        case converging
        /// All speakers type. At `until` all other nodes must show them typing.
        case typing(until: Instant)
        /// All speakers have sent a message. At `until` all receivers must have shown it.
        case sending(until: Instant)
        /// Every message, however old, must have an outcome before `until`.
        case settling(until: Instant)
        case done
    }

    private let calmAt: Instant
    /// The time by which the nodes have to agree. The end of the faults sets it.
    private var agreement: Instant
    private var phase = Phase.faults
    private var lastMessages: [Int] = []

    init(calmAt: Instant) { (self.calmAt, agreement) = (calmAt, calmAt) }

    var isDone: Bool {
        if case .done = phase { true } else { false }
    }

    mutating func check(_ simulation: Simulation) {
        let now = simulation.now
        switch phase {
        case .faults:
            guard !simulation.hasFaults, now >= calmAt else { return }
            agreement = calmAt + simulation.patience + simulation.timeToFollow
            phase = .converging
        case .converging:
            let stranded = simulation.stranded()
            let unshown = simulation.unshownTexts()
            let disagreements = stranded + unshown + simulation.disagreements()
            if disagreements.isEmpty, simulation.nobodyIsShownTyping {
                for host in simulation.speakers {
                    host.chats.sorted().forEach { simulation.act(host, .edit(chat: $0)) }
                }
                phase = .typing(until: now + .milliseconds(750))
            } else if now >= agreement {
                let text = disagreements.first ?? "typing is still shown"
                let rule: Violation.Rule =
                    !stranded.isEmpty ? .strandedMember : unshown.isEmpty ? .divergence : .lostMessage
                simulation.checker.report(rule, "\(disagreements.count): \(text)", now)
            }
        case .typing(let until):
            guard now >= until else { return }
            if let missing = simulation.missingTypist() {
                guard now < agreement else {
                    simulation.checker.report(.divergence, missing, now)
                    return
                }
                // The nodes agree on presence, but one link has not yet noticed that the other end moved.
                for host in simulation.speakers {
                    host.chats.sorted().forEach { simulation.act(host, .empty(chat: $0)) }
                }
                phase = .converging
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
            if !missing.isEmpty, now < agreement {
                // Two nodes that agree on presence may still use different sending sessions. If a message failed for
                // this reason, the next message must arrive.
                if missing.contains(where: { $0.outcome == .failed }) {
                    phase = .converging
                }
                return
            }
            // Losses may delay a stream. Older messages of the stream then arrive first.
            if let lost = missing.first(where: { !simulation.isHeldUp($0) }) {
                let text = "\(lost.message.text) is not shown to identity \(lost.identity), but \(lost.outcome)"
                simulation.checker.report(.divergence, text, now)
            }
            // A message on a link that was down fails when the node forgets the link (L-83).
            phase = .settling(until: now + .seconds(75))
        case .settling(let until):
            // A node that crashed may still be shown as typing, for 3 s.
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
            if let text = simulation.unshownTexts().first {
                if now >= until { simulation.checker.report(.lostMessage, text, now) }
                return
            }
            // The ledger does not know the open messages of a node that returned to a snapshot.
            let isKept = simulation.hosts.contains { $0.wasReverted && $0.node?.endpoint.tableSizes.messages ?? 0 > 0 }
            if isKept, now < until { return }
            simulation.checkLeftovers()
            phase = .done
        case .done:
            return
        }
    }
}

extension Simulation {
    /// The time that the nodes have to agree. After a long absence, a node tries a peer only once a minute if discovery
    /// reports nothing new (L-5).
    var patience: Duration {
        let isFoundAnew = scenario.network.isFoundAnew && !scenario.network.isByHand
        // During a partition, discovery noticed no change on either side.
        let isParted = scenario.steps.contains { step in
            if case .partition(_, let length) = step.action { length >= 90_000 } else { false }
        }
        // A machine that returned to a snapshot may be recognised late. Its links then go down (L-93 to L-95).
        if hosts.contains(where: \.wasReverted) { return .seconds(80) }
        // An owner's node that departed publishes nothing, so that only its own slow openings may remain (L-5).
        if chain != nil, scenario.faultsEnd > 60_000 { return .seconds(80) }
        // A text on a link that a peer has left fails when the link is forgotten (L-83).
        if texts != nil { return .seconds(80) }
        // The links of an adversary that vanishes without a bye last up to 8.3 s.
        if adversary != nil { return .seconds(16) }
        return .seconds((!isFoundAnew || isParted) && scenario.faultsEnd > 80_000 ? 80 : 10)
    }

    /// The additional time while members still follow the chain. A member takes one successor after another (M-93), and
    /// discovery, the pause of L-1 and a handshake take up to 2 s for each. So no fixed time fits chains of every length.
    var timeToFollow: Duration {
        guard let chain, let friends = scenario.removals?.friends else { return .zero }
        let followers = hosts.filter { host in
            host.isActive
                && (chain[chain.newest].members.contains(host.plan.identity) || friends.contains(host.index))
        }
        return .seconds(2 * (followers.compactMap { $0.membership.map { chain.newest - $0.chat } }.max() ?? 0))
    }

    /// The hosts that type and send once all nodes agree: at most six.
    var speakers: [SimulatedHost] { Array(hosts.filter(\.isActive).prefix(6)) }

    var nobodyIsShownTyping: Bool { hosts.allSatisfy { checker.typistsShown(by: $0.index) == 0 } }

    /// Returns the differences between the people that nodes show and the people who are there.
    func disagreements() -> [String] {
        var disagreements: [String] = []
        for viewer in hosts where viewer.isActive {
            for chat in viewer.chats.sorted() {
                let expected = Set(others(of: viewer, in: chat).map(\.key))
                let required = Set(surelySeen(by: viewer, in: chat).map(\.key))
                let shown = viewer.node?.endpoint.present(in: chats[chat].id) ?? []
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
                    // A node that returned to a snapshot may have lost the record of the name.
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

    /// Returns the hosts that a host should see in a chat.
    private func others(of viewer: SimulatedHost, in chat: Int) -> [SimulatedHost] {
        hosts.filter { other in
            other.isActive && other.chats.contains(chat) && other.plan.identity != viewer.plan.identity
                && !viewer.blocks(other.plan.identity) && !other.blocks(viewer.plan.identity)
                && !viewer.refuses(other.key, in: chat) && !other.refuses(viewer.key, in: chat)
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

    /// Returns whether a node may rightly not see a device. The node keeps only some devices of one key (D-9), and one
    /// that said bye rests (L-35).
    private func mayBeOverlooked(_ device: SimulatedHost, by other: SimulatedHost, in chat: Int) -> Bool {
        crowds.contains(device.plan.identity)
            && (other.farewells[chat] != nil || other.blocks[device.plan.identity] != nil)
    }

    /// A message that a present person was not shown.
    struct Missing {
        let message: MessageLedger.Sent
        let identity: Int
        let outcome: MessageLedger.Outcome
    }

    /// Returns the messages that present recipients were not shown. A late hello may show a person who has left for 3 s
    /// more.
    func missing(_ messages: [Int]) -> [Missing] {
        messages.map { checker.messages.sent[$0] }.flatMap { message in
            let present = Set(others(of: hosts[message.host], in: message.chat).map(\.plan.identity))
            return message.outcomes.sorted { $0.key < $1.key }
                .filter { present.contains($0.key) && !message.shownTo.contains($0.key) }
                .map { Missing(message: message, identity: $0.key, outcome: $0.value) }
        }
    }

    /// Returns whether an older message of the same stream has no outcome yet.
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

    /// Checks that the tables have no leftovers at the end of the run.
    func checkLeftovers() {
        for host in hosts {
            guard let sizes = host.node?.endpoint.tableSizes else { continue }
            let peers = host.chats.map { others(of: host, in: $0).count }.reduce(0, +)
            // Down links of an adversary keep their messages for 60 s.
            if sizes.messages != 0, adversary == nil {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.messages) messages", now)
            }
            // Handshakes left over from the faults or from a move last at most 5 s longer (L-12).
            let disturbances = [.zero + .milliseconds(scenario.calmAt)] + (chain?.moved.values.flatMap { $0 } ?? [])
            // The links of an adversary go down within 8.3 s, and are forgotten 60 s later (L-83). The last attempts for
            // them end 5 s after that.
            let sinceAttack = now - (.zero + .milliseconds(scenario.calmAt))
            let isForgetting = adversary != nil && sinceAttack > .seconds(60) && sinceAttack < .seconds(74)
            let isCalm = !isForgetting && disturbances.allSatisfy { now - $0 > .seconds(12) }
            // Nobody answers the attempts of a removed member at remembered addresses.
            let unanswered = chain == nil ? 4 : 4 * hosts.count
            if host.isActive, isCalm, sizes.sessions > sizes.links * Limits.sessionsPerLink + unanswered {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.sessions) sessions", now)
            }
            // Instances of crashed nodes stay in discovery. Nodes also keep peers added by hand, with their later
            // addresses.
            let advertised = (Array(instances.values) + Array(withdrawn.values)).count {
                host.browsed.contains($0.chat)
            }
            // Addresses of links that a suspension ended are kept for 90 s (L-88).
            let strange = adversary.map { Limits.addressesAsked + Limits.linksPerSource + $0.mostLinks } ?? 0
            if host.isActive, sizes.instances > advertised + 4 * hosts.count + strange {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.instances) instances", now)
            }
            // Down links, also of an adversary, are kept for 60 s (L-83).
            if host.isActive, adversary == nil, sizes.links > Limits.linksPerKey * (peers + 1) {
                checker.report(.tableGrowth, "host \(host.index) keeps \(sizes.links) links to \(peers) peers", now)
            }
        }
    }
}

/// How accurate the typing indicator is (R32), in milliseconds, summed over all pairs of a writer and a viewer.
package struct Accuracy: Equatable, Sendable {
    /// The time during which the writer was typing.
    package var typed = 0
    /// The time during which the viewer showed the writer as typing.
    package var shown = 0
    /// The time during which the writer typed and the viewer showed it.
    package var both = 0
    /// The number of flickers: the indicator disappeared and came back while the writer typed without pause.
    package var flickers = 0

    package init() {}

    /// The share of the typing time that the viewer showed, in 1,000.
    package var coveragePerMille: Int { typed == 0 ? 1_000 : both * 1_000 / typed }
    /// The share of the shown time in which the writer typed, in 1,000.
    package var truthPerMille: Int { shown == 0 ? 1_000 : both * 1_000 / shown }

    package mutating func add(_ other: Accuracy) {
        typed += other.typed
        shown += other.shown
        both += other.both
        flickers += other.flickers
    }
}

/// Measures how long typing is true and shown.
struct AccuracyMeter {
    private struct Pair {
        var since = Instant.zero
        var isTyping = false
        var isShown = false
        var typed: Int64 = 0
        var shown: Int64 = 0
        var both: Int64 = 0
        /// Whether the indicator has been shown since this writer began to type.
        var wasShown = false
        var flickers = 0

        mutating func advance(to now: Instant) {
            let elapsed = (now - since).nanoseconds
            if isTyping { typed += elapsed }
            if isShown { shown += elapsed }
            if isTyping, isShown { both += elapsed }
            since = now
        }
    }

    private let hosts: [SimulatedHost]
    private var pairs: [[Pair]]

    init(hosts: [SimulatedHost]) {
        self.hosts = hosts
        pairs = Array(repeating: Array(repeating: Pair(), count: hosts.count), count: hosts.count)
    }

    /// Records that a user may have begun or stopped typing.
    mutating func wrote(_ writer: Int, _ now: Instant) {
        let isTyping = hosts[writer].typingChats(now) != 0
        for viewer in hosts.indices where viewer != writer && pairs[writer][viewer].isTyping != isTyping {
            pairs[writer][viewer].advance(to: now)
            pairs[writer][viewer].isTyping = isTyping
            pairs[writer][viewer].wasShown = false
        }
    }

    mutating func shown(by viewer: Int, in chat: ChatID, _ keys: [PublicKey], _ now: Instant) {
        for writer in hosts.indices where writer != viewer {
            let isShown = keys.contains(hosts[writer].key)
            guard pairs[writer][viewer].isShown != isShown else { continue }
            pairs[writer][viewer].advance(to: now)
            if isShown, pairs[writer][viewer].isTyping {
                if pairs[writer][viewer].wasShown { pairs[writer][viewer].flickers += 1 }
                pairs[writer][viewer].wasShown = true
            }
            pairs[writer][viewer].isShown = isShown
        }
    }

    mutating func finish(_ now: Instant) -> Accuracy {
        var accuracy = Accuracy()
        for writer in pairs.indices {
            for viewer in pairs[writer].indices where viewer != writer {
                pairs[writer][viewer].advance(to: now)
                accuracy.typed += Int(pairs[writer][viewer].typed / 1_000_000)
                accuracy.shown += Int(pairs[writer][viewer].shown / 1_000_000)
                accuracy.both += Int(pairs[writer][viewer].both / 1_000_000)
                accuracy.flickers += pairs[writer][viewer].flickers
            }
        }
        return accuracy
    }
}
