import InklingCore
import InklingWire

/// The effects of the adversary on the virtual LAN, and the processing time of the nodes.
extension Simulation {
    // MARK: The adversary

    func scheduleAdversary() {
        guard let plan = adversary?.plan else { return }
        events.add(.attack, at: .zero + .milliseconds(plan.begin))
        events.add(.adversaryEnds, at: .zero + .milliseconds(plan.end))
        for (index, step) in plan.steps.enumerated() {
            events.add(.adversaryStep(index), at: .zero + .milliseconds(step.at))
        }
    }

    /// Whether the adversary acts now.
    var isAttacked: Bool {
        guard let plan = adversary?.plan else { return false }
        return now >= .zero + .milliseconds(plan.begin) && now < .zero + .milliseconds(plan.end)
    }

    /// Sets how well a node's user knows the others, and whether the user takes messages, in a scenario with an
    /// adversary.
    func prepare(_ node: SimulatedNode, of host: SimulatedHost) {
        guard let plan = adversary?.plan else { return }
        node.takesMessages = !plan.slowReaders.contains(host.index) || now >= .zero + .milliseconds(plan.end)
        guard plan.standing > .stranger else { return }
        let others = hosts.filter { $0.plan.identity != host.plan.identity }.map { ($0.key, plan.standing) }
        input(host) { $0.setStandings(Dictionary(others) { first, _ in first }, now: $1) }
    }

    /// Returns whether the protocol promises these two hosts a connection: they are friends, or the run has no
    /// adversary.
    func isPromised(_ one: SimulatedHost, _ other: SimulatedHost, in chat: Int) -> Bool {
        guard let plan = adversary?.plan else { return true }
        return plan.standing > .stranger || chat == 2
    }

    /// The nodes that the adversary can reach.
    private var targets: [Adversary.Target] {
        hosts.prefix(Adversary.targets).compactMap { host in
            guard let address = host.addresses.first, host.node != nil, !host.isUnplugged, !host.isAsleep else {
                return nil
            }
            return Adversary.Target(
                host: host.index, key: host.key, address: address, incarnation: host.incarnation)
        }
    }

    func attack() {
        guard let adversary, isAttacked else { return }
        let targets = targets
        for target in targets { deceive(hosts[target.host], adversary) }
        launch(adversary.act(on: targets, now))
        events.add(.attack, at: now + Adversary.period)
    }

    /// Announces all of the adversary's service instances to a node that has just started. Later calls announce the
    /// instances with changing keys.
    private func deceive(_ host: SimulatedHost, _ adversary: Adversary) {
        if deceived[host.index]?.incarnation != host.incarnation {
            deceived[host.index] = (host.incarnation, [])
            let friends = hosts.filter { $0.key != host.key }.map { (host: $0.index, key: $0.key) }
            for instance in adversary.instances(of: friends) {
                let delay = Duration.milliseconds(adversary.generator.number(in: 100...900))
                events.add(.forgedInstance(viewer: host.index, instance), at: now + delay)
            }
        } else if now.nanoseconds / Adversary.period.nanoseconds % 10 == 0 {
            for instance in adversary.changedInstances() { announce(instance, to: host) }
        }
    }

    func announce(_ instance: Adversary.Instance, to viewer: SimulatedHost) {
        guard isAttacked, case .running = viewer.state, viewer.chats.contains(0) else { return }
        deceived[viewer.index]?.names.insert(instance.name)
        input(viewer) {
            $0.found(
                instance.name, chat: Simulation.chats[0].id, key: instance.key, addresses: instance.addresses, now: $1)
        }
    }

    /// Launches the adversary's datagrams evenly over a time.
    private func launch(_ forgeries: [Adversary.Forgery], over time: Duration = Adversary.period) {
        for (place, forgery) in forgeries.enumerated() {
            let pause = time * place / forgeries.count
            arrive(forgery, after: pause + .microseconds(150))
        }
    }

    private func arrive(_ forgery: Adversary.Forgery, after delay: Duration) {
        let packet = Packet(
            number: 0, kind: .ask, sentAt: now, sender: Packet.adversary, source: forgery.source,
            destination: forgery.destination, bytes: forgery.bytes, original: nil, typing: 0)
        events.add(.arrival(packet), at: now + delay)
    }

    /// Passes a node's datagram to the adversary, as its receiver or as an eavesdropper.
    func seize(_ bytes: [UInt8], _ kind: DatagramKind, to address: Address, from source: Address) {
        guard let adversary, isAttacked else { return }
        if adversary.owns(address) {
            events.add(.seized(bytes, from: source, at: address), at: now + .microseconds(300))
        } else if kind == .initiation {
            adversary.overhear(bytes, from: source, to: address)
        }
    }

    func seize(_ bytes: [UInt8], from source: Address, at address: Address) {
        guard let adversary, isAttacked else { return }
        let answer =
            adversary.isRelay(address)
            ? adversary.relay(bytes, from: source, at: address, hosts: hosts.map(\.addresses.first))
            : adversary.receive(bytes, from: source, at: address)
        if adversary.links.contains(where: \.isTold) {
            checker.report(.limit, "a nameless member reads what is said (L-85)", now)
        }
        if let answer { arrive(answer, after: .microseconds(300)) }
    }

    /// Ends the attacks. Discovery loses the adversary's instances.
    func endAttacks() {
        guard let adversary else { return }
        trace { "the adversary goes" }
        if adversary.takesLeave { launch(adversary.leave(targets), over: .seconds(2)) }
        for host in hosts {
            for name in deceived[host.index]?.names.sorted() ?? [] {
                input(host) { $0.lost(name, chat: Simulation.chats[0].id, now: $1) }
            }
            takeMessages(host)
        }
        coverage.attacks.merge(adversary.sent, uniquingKeysWith: +)
    }

    /// Lets the user of a host take all waiting messages.
    private func takeMessages(_ host: SimulatedHost) {
        guard let node = host.node, !node.takesMessages else { return }
        let waiting = node.takeMessages()
        input(host) { endpoint, now in
            for number in waiting { endpoint.messageTaken(number, now: now) }
        }
    }

    // MARK: Processors

    /// Queues a datagram that arrives while the processor is busy.
    func wait(_ packet: Packet, at host: SimulatedHost) {
        if host.processor.isSocketEmpty { events.add(.processorFree(host: host.index), at: host.processor.busyUntil) }
        guard host.processor.add(packet, now) else {
            coverage.faults[.overflown, default: 0] += 1
            return
        }
    }

    /// Handles the next datagram when the processor is free.
    func goOn(_ host: SimulatedHost) {
        if host.processor.isBusy(now), !host.processor.isSocketEmpty {
            events.add(.processorFree(host: host.index), at: host.processor.busyUntil)
            return
        }
        guard let next = host.processor.next() else { return }
        if case .running = host.state {
            receive(next.packet, arrivedAt: next.arrivedAt, by: host)
            confirmDrained(host)
        }
        guard !host.processor.isSocketEmpty else { return }
        events.add(.processorFree(host: host.index), at: max(host.processor.busyUntil, now))
    }
}
