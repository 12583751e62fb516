import InklingCore
import InklingWire

/// Runs one scenario: the production core in every node, a virtual clock, a virtual LAN.
///
/// The faults of the scenario come first, with every rule checked at every step. Then all faults end, and within 10 s
/// the nodes have to agree on presence. Typing and messages have to reach everybody. Two runs of one scenario are
/// equal to the byte.
package final class Simulation {
    /// The result of a run.
    package struct Result: Equatable, Sendable {
        package let violation: Violation?
        package let coverage: Coverage
        /// A digest of all sent bytes and all reports, with their times.
        package let digest: UInt64
        package let accuracy: Accuracy
        /// The most datagrams that one node sent in a second.
        package let busiest: Int
    }

    enum Event {
        case arrival(Packet)
        case timer(host: Int)
        case step(Int)
        case announcement(viewer: Int, instance: String)
        case withdrawal(viewer: Int, instance: String)
        case doubt(viewer: Int, Address)
        case unpause(host: Int, number: Int)
        case wake(host: Int)
        case replug(host: Int)
        /// A host sends a farewell after its node has ended.
        case farewell([UInt8], to: Address, from: Address, host: Int)
        case replay
        /// A datagram arrives that was held back.
        case release(Packet)
        case holdEnds(from: Int, to: Int)
        /// The adversary takes its turn.
        case attack
        case adversaryStep(Int)
        case adversaryEnds
        case forgedInstance(viewer: Int, Adversary.Instance)
        /// A datagram reaches the adversary.
        case seized([UInt8], from: Address, at: Address)
        /// A processor is free for the next datagram in its socket.
        case processorFree(host: Int)
        case writingEnds(host: Int)
        /// A daemon has written on its disk that its node takes a successor of a chat.
        case follow(host: Int, incarnation: Int, ChatID, from: PublicKey, Successor)
        /// A key that the owner did not expect shows in a departed chat.
        case meet(host: Int, PublicKey)
        /// A daemon writes the received texts to its disk.
        case commit(host: Int, incarnation: Int)
        /// A daemon sends the unfinished texts of a person.
        case flush(host: Int, incarnation: Int, PublicKey)
        case tick
        case faultsEnd
    }

    /// The chats of all simulations. Each host is in some of them.
    static let chats = [
        openChat("lobby"), openChat("kitchen"),
        ChatKeys(secret: secret),
    ]
    private static let secret: ChatSecret = {
        var generator = SeededGenerator(seed: 7)
        return ChatSecret(using: &generator)
    }()

    private static func openChat(_ name: String) -> ChatKeys {
        guard let name = try? ChatName(name) else { preconditionFailure("no name of a chat") }
        return ChatKeys(openName: name)
    }

    let scenario: Scenario
    /// The chats of all simulations, and those of the owner, if there is one.
    var chats = Simulation.chats
    /// The owner's chats; nil in most scenarios.
    var chain: Chain?
    /// The texts that wait for people who are away; nil in most scenarios.
    var texts: TextLedger?
    let hasRenames: Bool
    /// The identities with more devices than a node keeps of one key (D-9).
    private(set) lazy var crowds = identitiesOfManyDevices()
    /// The longest delay of a datagram in this scenario.
    lazy var longestDelay = delayOfAll()
    let hosts: [SimulatedHost]
    let onTrace: ((Instant, String) -> Void)?
    var now = Instant.zero
    var events = EventQueue<Event>()
    var network: SimulatedNetwork
    let checker: StateChecker
    var coverage = Coverage()
    var accuracy: AccuracyMeter?
    var hostsByAddress: [Address: Int] = [:]
    var instances: [String: Advertisement] = [:]
    /// Instances that discovery no longer advertises.
    var withdrawn: [String: Advertisement] = [:]
    var hasFaults = true
    /// The number of changes of addresses so far.
    var moves = 0
    /// The datagrams from one host to another that the network holds back.
    var held: [Hold: [Packet]] = [:]
    /// The time between two held datagrams when they are released.
    var holdPause = Duration.zero
    /// The random numbers of decisions that belong to no path and no host.
    var generator: SeededGenerator
    var attacker: ReplayAttacker
    let adversary: Adversary?
    /// The people whom a node stops showing in the current input. Datagrams of the input may still count them as shown
    /// (L-44).
    var departing: [(chat: ChatID, key: PublicKey)] = []
    /// The service instances that the adversary announced to each node, with the start of the node.
    var deceived: [Int: (incarnation: Int, names: Set<String>)] = [:]
    var traffic: TrafficMeter
    let liveness: LivenessChecker
    var limits = LimitChecker()
    private var convergence: ConvergenceChecker
    private var lastPacket: UInt64 = 0
    private var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private var lastTimerInstant = Instant.zero
    private var timersOfInstant = 0

    /// - Parameters:
    ///   - measuresAccuracy: Whether to measure how accurate the typing indicator is.
    ///   - onTrace: Receives a line for each event.
    package init(
        _ scenario: Scenario, measuresAccuracy: Bool = false, onTrace: ((Instant, String) -> Void)? = nil
    ) {
        self.scenario = scenario
        hasRenames = scenario.hasRenames
        self.onTrace = onTrace
        let identities = Simulation.identities(scenario.hosts.map(\.identity).max() ?? 0)
        hosts = scenario.hosts.enumerated().map { index, plan in
            SimulatedHost(
                index: index, plan: plan, identity: identities[plan.identity],
                addresses: Simulation.addresses(index, port: 4_000, plan),
                ipv4Prefix: scenario.hosts.count > 150 ? 112 : 120, seed: scenario.seed,
                chatCount: scenario.removals == nil ? Simulation.chats.count : Simulation.mostChats)
        }
        generator = SeededGenerator(seed: scenario.seed, purpose: 5)
        network = SimulatedNetwork(scenario, isUniform: measuresAccuracy)
        adversary = scenario.adversary.map { Adversary($0, scenario, Simulation.chats[0]) }
        checker = StateChecker(hosts: hosts, chats: chats, scenario: scenario, adversary: adversary)
        attacker = ReplayAttacker(scenario)
        traffic = TrafficMeter(hosts: scenario.hosts.count)
        liveness = LivenessChecker(hosts: hosts)
        convergence = ConvergenceChecker(calmAt: .zero + .milliseconds(scenario.calmAt))
        if let plan = scenario.removals { begin(plan) }
        if scenario.keepsTexts { texts = TextLedger() }
        if measuresAccuracy { accuracy = AccuracyMeter(hosts: hosts) }
    }

    /// Runs the scenario to its end, or to the first violation.
    package func run() -> Result {
        for host in hosts { start(host) }
        for (index, step) in scenario.steps.enumerated() {
            events.add(.step(index), at: .zero + .milliseconds(step.at))
        }
        events.add(.faultsEnd, at: .zero + .milliseconds(scenario.faultsEnd))
        events.add(.tick, at: .zero + .milliseconds(250))
        if scenario.network.replay > 0 { events.add(.replay, at: .zero + .milliseconds(50)) }
        scheduleAdversary()
        while checker.violation == nil, !convergence.isDone, let next = events.popFirst() {
            now = next.at
            perform(next.event)
        }
        return result()
    }

    private func result() -> Result {
        var coverage = coverage
        coverage.add(checker.coverage)
        coverage.runs = 1
        coverage.hosts = hosts.count
        coverage.datagrams = Int(lastPacket)
        coverage.virtualSeconds = Int(now.nanoseconds / 1_000_000_000)
        coverage.faults.merge(network.faults, uniquingKeysWith: +)
        if attacker.replayed > 0 { coverage.faults[.replayed] = attacker.replayed }
        for host in hosts { if let counters = host.node?.endpoint.counters { coverage.count(counters) } }
        return Result(
            violation: checker.violation, coverage: coverage, digest: digest,
            accuracy: accuracy?.finish(now) ?? Accuracy(), busiest: traffic.busiest)
    }

    private func perform(_ event: Event) {
        switch event {
        case .arrival(let packet): arrive(packet)
        case .timer(let host): timer(hosts[host])
        case .step(let index): perform(scenario.steps[index])
        case .announcement(let viewer, let name): announce(name, to: hosts[viewer])
        case .withdrawal(let viewer, let name): withdraw(name, from: hosts[viewer])
        case .doubt(let viewer, let address): input(hosts[viewer]) { $0.doubt(address, now: $1) }
        case .unpause(let host, let number): unpause(hosts[host], number)
        case .wake(let host): wake(hosts[host])
        case .replug(let host): replug(hosts[host])
        case .farewell(let bytes, let address, let source, let host):
            launch(bytes, .bye, to: address, from: source, host: hosts[host])
        case .replay: replay()
        case .release(let packet): arrive(packet)
        case .holdEnds(let from, let to): endHold(from: from, to: to)
        case .attack: attack()
        case .adversaryStep(let index): if let step = adversary?.plan.steps[index] { perform(step) }
        case .adversaryEnds: endAttacks()
        case .forgedInstance(let viewer, let instance): announce(instance, to: hosts[viewer])
        case .seized(let bytes, let source, let address): seize(bytes, from: source, at: address)
        case .processorFree(let host): goOn(hosts[host])
        case .writingEnds(let host): accuracy?.wrote(host, now)
        case .follow(let host, let incarnation, let chat, let key, let successor):
            follow(hosts[host], incarnation, chat, from: key, successor)
        case .meet(let host, let key): welcome(key, to: hosts[host])
        case .commit(let host, let incarnation): commit(hosts[host], incarnation)
        case .flush(let host, let incarnation, let key): flush(hosts[host], incarnation, key)
        case .tick: tick()
        case .faultsEnd: endFaults()
        }
    }

    private func tick() {
        for host in hosts where host.isActive {
            checker.checkStatuses(of: host.index, now)
            checker.checkPresence(of: host, now) { liveness.lastHandshake(of: $0, with: host.index) }
            traffic.check(host, now, checker)
        }
        checker.checkDepartures(now)
        liveness.check(self)
        checkTables()
        checkChain()
        checkTexts()
        if hosts.count <= 10 { checkLinks() }
        if let message = checker.messages.firstOverdue(now, hosts) {
            checker.report(.lostMessage, "\(message.text.prefix(40)) delivered and not shown", now)
        }
        convergence.check(self)
        events.add(.tick, at: now + .milliseconds(hasFaults && scenario.faultsEnd > 100_000 ? 2_000 : 250))
    }

    // MARK: Inputs

    /// Passes an input to a node that runs, and performs its outputs.
    ///
    /// - Parameter cause: The datagram of the input, if any.
    func input(
        _ host: SimulatedHost, cause: Packet? = nil, arrivedAt: Instant? = nil,
        _ body: (inout Endpoint, Instant) -> Void
    ) {
        guard case .running(let node) = host.state else { return }
        checker.checkStatuses(of: host.index, now)
        let before = adversary == nil ? [:] : node.ask { $0.counters.drops }
        let given = chain == nil ? nil : successors(of: host, node)
        let reaction = node.react(to: body, ofSession: cause?.session, now)
        if adversary != nil { host.processor.spend(node.work(reaction, cause?.bytes, before), now) }
        if reaction.wantsSocketDrained { host.lateAt = now }
        traffic.has(reaction.links, by: host.index)
        var newest: Packet?
        if let cause, let chat = reaction.chat {
            let isTaken = reaction.dropped == 0
            let isNew = !reaction.wantsSocketDrained
            if isNew, isTaken || reaction.surplus > 0 { checker.heard(cause, in: chat, by: host.index, now) }
            let isNewest =
                isTaken
                && checker.took(cause, in: chat, by: host.index, arrivedAt: arrivedAt ?? now, isNew: isNew, now) {
                    liveness.lastHandshake(between: hosts[$0], host)
                }
            if isNewest { newest = cause }
        }
        departing = reaction.outputs.compactMap {
            if case .presence(let chat, let person, .offline, _) = $0 { (chat, person.key) } else { nil }
        }
        for output in reaction.outputs { act(output, host, node, cause: newest) }
        if let given { checkInput(of: host, node, given) }
        checker.checkStatuses(of: host.index, now)
        schedule(node, of: host)
    }

    private func timer(_ host: SimulatedHost) {
        guard case .running(let node) = host.state, node.timerAt == now else { return }
        if host.processor.isBusy(now) {
            node.timerAt = host.processor.busyUntil
            events.add(.timer(host: host.index), at: host.processor.busyUntil)
            return
        }
        node.timerAt = nil
        timersOfInstant = lastTimerInstant == now ? timersOfInstant + 1 : 1
        lastTimerInstant = now
        if timersOfInstant > 1_000 * hosts.count { checker.report(.spinning, "host \(host.index)", now) }
        input(host) { $0.advance(to: $1) }
        confirmDrained(host)
    }

    /// Schedules the timer of a node at its next deadline, plus some lateness if the host's timers are late.
    private func schedule(_ node: SimulatedNode, of host: SimulatedHost) {
        guard let deadline = node.deadline else { return }
        let at = max(deadline, now)
        if let timerAt = node.timerAt, timerAt <= at { return }
        let late = host.plan.lateness > 0 && hasFaults ? host.lateness.number(in: 0...host.plan.lateness) : 0
        let due = at + .microseconds(late)
        if let timerAt = node.timerAt, timerAt <= due { return }
        node.timerAt = due
        events.add(.timer(host: host.index), at: due)
    }

    private func arrive(_ packet: Packet) {
        guard let index = hostsByAddress[packet.destination], !hosts[index].isUnplugged else { return }
        let host = hosts[index]
        switch host.state {
        case .asleep: return
        case .off:
            // No program has the port, so the sender's system reports an error.
            if packet.isGenuine {
                events.add(.doubt(viewer: packet.sender, packet.destination), at: now + .milliseconds(1))
            }
        case .paused(let node, var pause):
            pause.add(packet, arrivedAt: now)
            host.state = .paused(node, pause)
        case .running:
            if host.processor.isBusy(now) || !host.processor.isSocketEmpty { return wait(packet, at: host) }
            receive(packet, arrivedAt: now, by: host)
            confirmDrained(host)
        }
    }

    func receive(_ packet: Packet, arrivedAt: Instant, by host: SimulatedHost) {
        trace {
            "host \(host.index) receives \(packet.bytes.count) bytes, \(packet.summary)"
                + self.place(of: packet, at: host)
        }
        input(host, cause: packet, arrivedAt: arrivedAt) { $0.receive(packet.bytes, from: packet.source, now: $1) }
    }

    /// Tells a node that its socket is empty, if the node asked for it.
    func confirmDrained(_ host: SimulatedHost) {
        guard case .running(let node) = host.state, node.wantsSocketDrained, host.processor.isSocketEmpty else {
            return
        }
        input(host) { $0.socketDrained(now: $1) }
    }

    // MARK: Datagrams

    /// Sends a datagram along its path.
    func launch(
        _ bytes: [UInt8], _ kind: DatagramKind, to address: Address, from source: Address, host: SimulatedHost
    ) {
        guard !host.isUnplugged, !host.isAsleep else { return }
        seize(bytes, kind, to: address, from: source)
        guard let target = hostsByAddress[address], target != host.index else { return }
        lastPacket += 1
        for chat in host.farewells.keys where host.isGone(from: chat) || now <= host.farewellsEnd {
            host.farewells[chat] = lastPacket
        }
        traffic.sent(by: host.index, kind)
        var shows = checker.chatsShown(of: hosts[target].plan.identity, by: host.index)
        for (chat, key) in departing where key == hosts[target].key {
            if let place = chats.firstIndex(where: { $0.id == chat }) { shows &= ~(1 << UInt8(place)) }
        }
        let transit = network.send(bytes, from: host.index, to: target, hasFaults: hasFaults, now)
        for copy in transit.copies {
            let packet = Packet(
                number: lastPacket, kind: kind, sentAt: now, sender: host.index, incarnation: host.incarnation,
                source: source, destination: address, bytes: copy.bytes, original: bytes,
                typing: host.typingChats(now), shows: shows)
            if hold(packet, to: target) { continue }
            events.add(.arrival(packet), at: now + copy.delay)
            if hasFaults { attacker.overhear(packet) }
        }
    }

    /// The number of the last datagram sent so far.
    var lastNumber: UInt64 { lastPacket }

    private func replay() {
        // In the hours of a long scenario the attacker stops after a minute.
        guard hasFaults, now < .zero + .seconds(60) else { return }
        if let packet = attacker.replay(isOwner: { hostsByAddress[$0] != nil }) {
            events.add(.arrival(packet), at: now)
        }
        events.add(.replay, at: now + .milliseconds(attacker.pause()))
    }

    // MARK: Digest and trace

    func note(_ bytes: [UInt8]) {
        digest = (digest ^ UInt64(truncatingIfNeeded: now.nanoseconds)) &* 0x100_0000_01B3
        for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    func note(_ keys: [PublicKey]) {
        for key in keys { note(key.bytes) }
        note([UInt8(truncatingIfNeeded: keys.count)])
    }

    func trace(_ text: () -> String) {
        if let onTrace { onTrace(now, text()) }
    }

    /// Returns the session of a sealed datagram, and its chat at the receiver.
    private func place(of packet: Packet, at host: SimulatedHost) -> String {
        guard let session = packet.session else { return "" }
        return ", session \(session)" + place(of: host.node?.endpoint.chat(ofSession: session))
    }

    func place(of tag: ChatID?) -> String { chats.firstIndex { $0.id == tag }.map { " in chat \($0)" } ?? "" }

    func names(_ people: [Person]) -> String {
        people.map { person in
            hosts.first { $0.key == person.key }.map { "identity \($0.plan.identity)" }
                ?? "stranger \(person.key.userID)"
        }
        .joined(separator: ", ")
    }
}

extension Simulation {
    private func delayOfAll() -> Duration {
        let clogs = scenario.steps.compactMap { if case .clog(_, let length) = $0.action { length } else { nil } }
        let reordering = scenario.network.reordering > 0 ? scenario.network.reorderingDelay : 0
        return .milliseconds((clogs.max() ?? 0) + reordering)
    }

    private func identitiesOfManyDevices() -> Set<Int> {
        let devices = Dictionary(grouping: hosts, by: \.plan.identity)
        return Set(devices.filter { $0.value.count > Limits.instancesPerKey }.keys)
    }
}

/// The requests and reports of nodes.
extension Simulation {
    func act(_ output: Output, _ host: SimulatedHost, _ node: SimulatedNode, cause: Packet?) {
        switch output {
        case .send(let bytes, let address, let kind):
            checker.sent(bytes, kind, by: host.index, now)
            note(bytes)
            trace {
                "host \(host.index) sends \(kind.rawValue), \(bytes.count) bytes, to \(address)"
                    + (kind.isSealed ? ", session \(SealedHeader(bytes).index)" : "")
            }
            check(bytes, kind, by: host, to: address)
            guard let source = host.source(for: address) else { return }
            launch(bytes, kind, to: address, from: source, host: host)
        case .typing(let chat, let people):
            note(people.map(\.key))
            checkShown(!people.isEmpty, in: chat, by: host)
            trace { "host \(host.index) shows typing: \(self.names(people))" }
            if adversary != nil { report(limits.listed(in: chat, by: host, now), host) }
            let ended = checker.typing(people, in: chat, by: host.index, cause: cause, now)
            for (identity, chat) in ended {
                guard let writer = hosts.first(where: { $0.plan.identity == identity }) else { continue }
                liveness.ended(writer, at: host, in: chat, self)
            }
            accuracy?.shown(by: host.index, in: chat, people.map(\.key), now)
        case .presence(let chat, let person, let presence, let why):
            note([person.key])
            checkShown(presence != .offline, in: chat, by: host)
            if hasRenames { note(Array(person.name.utf8)) }
            trace {
                "host \(host.index) shows \(self.names([person])) \(presence) (\(why)), \(person.name)"
                    + self.place(of: chat)
            }
            if adversary != nil { report(limits.told(of: person.key, in: chat, by: host, now), host) }
            checker.presence(person, in: chat, is: presence, why: why, by: host.index, now) {
                liveness.lastHandshake(between: hosts[$0], host)
            }
        case .message(let chat, let person, let number, let text, let id):
            note(Array(text.utf8))
            if let id { return receiveKept(text, id, number, from: person.key, host) }
            trace { "host \(host.index) shows message \(text.prefix(24))" }
            if adversary?.holds(person.key) ?? false {
                return report(limits.message(from: person.key, by: host, now), host)
            }
            show(text, of: person, in: chat, on: host)
        case .delivered(let number, _, let key):
            if texts != nil { return finish(number, for: key, isDelivered: true, host) }
            report(number, key, .delivered, host)
        case .failed(let number, let chat, let key, let reason):
            coverage.failures[reason, default: 0] += 1
            if reason == .silence, let other = hosts.first(where: { $0.key == key }) {
                checker.failedBySilence(
                    to: other.plan.identity, in: chat, by: host.index,
                    handshake: liveness.lastHandshake(between: host, other), now)
            }
            if reason == .lostState, let identity = hosts.first(where: { $0.key == key })?.plan.identity {
                checker.checkLoss(of: identity, in: chat, by: host.index, now)
            }
            trace { "host \(host.index): message \(number) failed (\(reason))" }
            if texts != nil { return finish(number, for: key, isDelivered: false, host) }
            report(number, key, .failed, host)
        case .keepWill(let session, let bytes, let address):
            checker.sent(bytes, .bye, by: host.index, now)
            node.wills[session] = (bytes, address)
        case .dropWill(let session):
            node.wills[session] = nil
        case .successor(let chat, let key, let successor):
            note(successor.body)
            trace { "host \(host.index) gets a successor" }
            checkTaken(by: host, in: chat)
            for owner in hosts where owner.key == key { traffic.gaveSuccessor(owner.index) }
            let delay = hasFaults ? scenario.removals?.diskDelay ?? 0 : 0
            events.add(
                .follow(host: host.index, incarnation: host.incarnation, chat, from: key, successor),
                at: now + .milliseconds(delay))
        case .newcomer(_, let key):
            note(key.bytes)
            trace { "host \(host.index) reports a newcomer, \(key.userID)" }
            events.add(.meet(host: host.index, key), at: now)
        case .reachable(_, let key):
            if texts != nil { becomeReachable(key, for: host) }
        case .unreachable, .left, .invite, .peerIsOneself, .otherSuccessor:
            return
        }
    }

    func show(_ text: String, of person: Person, in tag: ChatID, on host: SimulatedHost) {
        guard let chat = chats.firstIndex(where: { $0.id == tag }) else { return }
        let identity = hosts.first { $0.key == person.key }?.plan.identity
        switch checker.messages.show(text, from: identity, in: chat, by: host, hosts: hosts) {
        case .failure(let fault):
            checker.report(fault.rule, "host \(host.index): \(fault.text)", now)
        case .success(let message):
            guard let identity, checker.isShownTyping(identity, in: chat, by: host.index) else { return }
            // The author may have begun to type again, or types on another device. After a crash, the earlier run
            // may be shown for 3 s after its last datagram, even a late one.
            let writer = hosts[message.host]
            let isAgain = writer.writing[chat].newestEdit > message.at
            let isFresh = writer.incarnation > 1 && now - writer.startedAt < .seconds(4) + longestDelay
            let isMultiple = hosts.filter { $0.plan.identity == identity }.count > 1
            guard !isAgain, !isFresh, !isMultiple else { return }
            checker.report(.typingAfterMessage, "host \(host.index): \(text.prefix(24))", now)
        }
    }

    func report(_ number: UInt64, _ key: PublicKey, _ outcome: MessageLedger.Outcome, _ host: SimulatedHost) {
        if adversary?.holds(key) ?? false { return }
        let identity = hosts.first { $0.key == key }?.plan.identity
        // A message may wait for a list of typists (T-22).
        let wait: Duration? =
            adversary != nil
            ? .milliseconds(150) : hosts.count > Limits.lists ? .milliseconds(60) : nil
        let due = wait.map { now + $0 }
        if let fault = checker.messages.report(number, for: identity, is: outcome, by: host, due: due) {
            checker.report(fault.rule, fault.text, now)
        }
    }
}

/// The future events of the virtual LAN, earliest first. Events of one instant keep their order of insertion.
struct EventQueue<Event> {
    private var heap = Heap<QueuedEvent>()
    private var events: [Event?] = []
    private var freePlaces: [Int] = []
    private var lastNumber: UInt64 = 0

    mutating func add(_ event: Event, at instant: Instant) {
        lastNumber += 1
        let place = freePlaces.popLast() ?? events.count
        if place == events.count { events.append(event) } else { events[place] = event }
        heap.insert(QueuedEvent(at: instant, number: lastNumber, place: place))
    }

    mutating func popFirst() -> (at: Instant, event: Event)? {
        guard let first = heap.popFirst(), let event = events[first.place] else { return nil }
        events[first.place] = nil
        freePlaces.append(first.place)
        return (first.at, event)
    }
}

/// The time of an event, and the place where the event is stored. A heap moves its elements often, so they are small.
private struct QueuedEvent: Comparable {
    let at: Instant
    let number: UInt64
    let place: Int

    static func < (left: QueuedEvent, right: QueuedEvent) -> Bool {
        left.at == right.at ? left.number < right.number : left.at < right.at
    }
}
