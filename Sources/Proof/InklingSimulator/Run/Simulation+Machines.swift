import InklingCore
import InklingWire

/// The faults of nodes and of their machines.
extension Simulation {
    func start(_ host: SimulatedHost) {
        guard case .off = host.state else { return }
        host.incarnation += 1
        host.startedAt = now
        host.disturbedAt = now
        let keepsPort = scenario.network.isByHand || host.index % 2 == 0
        let port: UInt16 = keepsPort ? 4_000 : 4_000 + UInt16(host.incarnation)
        setAddresses(host, host.addresses.map { $0.withPort(port) })
        let seed = scenario.seed &+ UInt64(host.index) << 40 &+ UInt64(host.incarnation) << 32
        let random = SeededGenerator(seed: seed, purpose: 4)
        let endpoint = Endpoint(
            configuration: .init(
                identity: host.identity, name: host.name, sendsTyping: host.plan.sendsTyping,
                isOwnUsers: { $0.port < Adversary.firstPort }),
            now: now, random: random)
        let node = SimulatedNode(endpoint)
        host.state = .running(node)
        host.processor = Processor()
        host.typing = host.typing.map { _ in TypingModel() }
        limits.restarted(host.index)
        prepare(node, of: host)
        host.endBlocks(now)
        host.lie = nil
        host.chats = Set(host.savedChats)
        if texts != nil { host.store.restart(seed: seed) }
        traffic.restarted(host.index, now)
        input(host) { $0.setNetworks(host.networks, port: port, now: $1) }
        if host.plan.keepsWills { input(host) { $0.keepsWills(now: $1) } }
        for chat in host.savedChats {
            enter(host, chat)
            recall(host, chat)
            advertise(host, chat)
            browse(host, chat)
        }
        restoreDepartures(of: host)
        if scenario.network.isByHand, host.index > 0, let address = hosts.first?.addresses.first {
            input(host) { $0.addPeer(address, now: $1) }
        }
    }

    func actOnMachine(_ host: SimulatedHost, _ action: Scenario.Action) {
        switch action {
        case .start: start(host)
        case .quit:
            guard case .running(let node) = host.state else { return }
            input(host) { $0.advance(to: $1) }
            for chat in host.chats.sorted() { sayFarewell(host, chat) }
            node.isSuspended = true
            input(host) { $0.quit(now: $1) }
            // Copies of the farewell still go out before the process ends.
            end(host)
            sendFarewells(of: node.endpoint, host)
            for chat in host.chats.sorted() { withdraw(host, chat) }
        case .crash(let will):
            guard let node = host.node else { return }
            if will, host.plan.keepsWills { sendWills(of: node, host) }
            end(host)
            for chat in host.chats.sorted() where chat % 2 == 0 { withdraw(host, chat) }
        case .pause(let length): pause(host, length)
        case .snapshot:
            // After the return, the node would not be in the chats that its user has joined since.
            guard case .running(let node) = host.state, !node.isSuspended, node.timerAt != nil,
                host.chats == Set(host.plan.chats)
            else { return }
            host.snapshot = (host.incarnation, node.endpoint)
        case .revert: revert(host)
        // A node tries a peer known only by hand once a minute. A longer sleep would only add waiting.
        case .sleep(let length): sleep(host, scenario.network.isByHand ? min(length, 50_000) : length)
        default: return
        }
    }

    /// Returns a machine to its snapshot. Its node then has an old state, but the right pair of epochs.
    private func revert(_ host: SimulatedHost) {
        guard case .running(let node) = host.state, let (incarnation, endpoint) = host.snapshot,
            incarnation == host.incarnation, !node.isSuspended, host.chats == Set(host.plan.chats)
        else { return }
        host.wasReverted = true
        limits.restarted(host.index)
        host.wokeAt = now
        host.disturbedAt = now
        node.endpoint = endpoint
        checker.reverted(host, node, now)
        node.timerAt = nil
        node.reverted()
        for chat in host.typing.indices { host.typing[chat] = TypingModel() }
        host.stopWriting()
        input(host) { $0.advance(to: $1) }
        input(host) { $0.rename(host.name, now: $1) }
        input(host) { $0.setAway(node.isAway, now: $1) }
        for (identity, block) in host.blocks.sorted(by: { $0.key < $1.key }) {
            guard let user = hosts.first(where: { $0.plan.identity == identity })?.key.userID else { continue }
            // The blocks and the name are the user's current ones, not those of the snapshot.
            if case .inForce = block {
                input(host) { $0.block(user, now: $1) }
            } else {
                input(host) { $0.unblock(user, now: $1) }
            }
        }
        confirmDrained(host)
        changeNetworks(host)
        for chat in host.chats.sorted() {
            advertise(host, chat)
            browse(host, chat)
        }
    }

    private func sendFarewells(of endpoint: Endpoint, _ host: SimulatedHost) {
        var endpoint = endpoint
        while endpoint.hasFarewells, let deadline = endpoint.nextDeadline {
            endpoint.advance(to: deadline)
            while let output = endpoint.nextOutput() {
                guard case .send(let bytes, let address, let kind) = output else { continue }
                checker.sent(bytes, kind, by: host.index, now)
                note(bytes)
                guard let source = host.source(for: address) else { continue }
                events.add(
                    .farewell(bytes, to: address, from: source, host: host.index), at: max(now, deadline))
            }
        }
    }

    private func sendWills(of node: SimulatedNode, _ host: SimulatedHost) {
        for (_, will) in node.wills.sorted(by: { $0.key < $1.key }) {
            guard let source = host.source(for: will.address) else { continue }
            for delay in [Duration.milliseconds(1), .milliseconds(31), .milliseconds(121)] {
                events.add(
                    .farewell(will.bytes, to: will.address, from: source, host: host.index), at: now + delay)
            }
        }
        for chat in host.chats.sorted() { sayFarewell(host, chat) }
    }

    private func end(_ host: SimulatedHost) {
        if let node = host.node { coverage.count(node.endpoint.counters) }
        for chat in host.chats.sorted() { keepAddresses(host, chat) }
        host.state = .off
        host.stopWriting()
        host.abandonTyping()
        checker.forget(host.index)
    }

    /// Stores the addresses that the node knows, as its state directory would.
    func keepAddresses(_ host: SimulatedHost, _ chat: Int) {
        guard let node = host.node else { return }
        for other in hosts where other.key != host.key {
            let addresses = node.endpoint.lastAddresses(of: other.key, in: chats[chat].id)
            if !addresses.isEmpty { host.lastAddresses[chat, default: [:]][other.key] = addresses }
        }
    }

    /// Passes the stored addresses to a new node.
    func recall(_ host: SimulatedHost, _ chat: Int) {
        for (key, addresses) in (host.lastAddresses[chat] ?? [:]).sorted(by: { $0.key < $1.key }) {
            input(host) { $0.recall(key, at: addresses, in: self.chats[chat].id, now: $1) }
        }
    }

    private func pause(_ host: SimulatedHost, _ length: Int) {
        guard case .running(let node) = host.state else { return }
        host.pauses += 1
        host.state = .paused(node, Pause(number: host.pauses))
        events.add(.unpause(host: host.index, number: host.pauses), at: now + .milliseconds(length))
    }

    func unpause(_ host: SimulatedHost, _ number: Int) {
        guard case .paused(let node, let pause) = host.state, pause.number == number else { return }
        goOn(host, node, waiting: pause.socket)
    }

    private func sleep(_ host: SimulatedHost, _ length: Int) {
        switch host.state {
        case .off: host.state = .asleep(nil)
        case .running(let node): host.state = .asleep(node)
        case .paused, .asleep: return
        }
        let isLong = length > 100_000
        if isLong { for chat in host.chats.sorted() { expire(host, chat) } }
        events.add(.wake(host: host.index), at: now + .milliseconds(length))
    }

    func wake(_ host: SimulatedHost) {
        guard case .asleep(let sleeping) = host.state else { return }
        guard let node = sleeping else {
            host.state = .off
            return
        }
        goOn(host, node, waiting: [])
        // After a long sleep the entries of discovery have expired on both sides. They now come again.
        for chat in host.browsed {
            loseAll(host, chat)
            if host.chats.contains(chat) { advertise(host, chat) }
            browse(host, chat)
        }
    }

    /// Continues a node that was stopped: its timer first, then the arrivals in its socket.
    private func goOn(_ host: SimulatedHost, _ node: SimulatedNode, waiting: [Pause.Waiting]) {
        host.state = .running(node)
        host.wokeAt = now
        host.disturbedAt = now
        checker.pausedViewerWakes(host.index)
        node.timerAt = nil
        input(host) { $0.advance(to: $1) }
        func receiveAll() {
            for item in waiting { receive(item.packet, arrivedAt: item.arrivedAt, by: host) }
        }
        if node.wantsSocketDrained {
            receiveAll()
            input(host) { $0.socketDrained(now: $1) }
            changeNetworks(host)
        } else {
            // The node did not notice a short pause, and treats waiting datagrams as fresh.
            changeNetworks(host)
            receiveAll()
        }
    }
}

extension Address {
    fileprivate func withPort(_ port: UInt16) -> Address { Address(high: high, low: low, port: port, scope: scope) }
}

/// The identities of the hosts, and their addresses.
extension Simulation {
    private static let commonIdentities: [KeyPair] = {
        var generator = SeededGenerator(seed: 42)
        return (0..<64).map { _ in KeyPair(using: &generator) }
    }()

    static func identities(_ highest: Int) -> [KeyPair] {
        guard highest >= commonIdentities.count else { return commonIdentities }
        var generator = SeededGenerator(seed: 43)
        return commonIdentities
            + (commonIdentities.count...highest).map { _ in KeyPair(using: &generator) }
    }

    static func addresses(_ number: Int, port: UInt16, _ plan: Scenario.HostPlan) -> [Address] {
        let ipv4 = Address(ipv4: 0x0A00_0001 + UInt32(number), port: port)
        guard plan.hasTwoAddresses else { return [ipv4] }
        return [ipv4, Address(high: 0xFE80 << 48, low: UInt64(number + 1), port: port, scope: 2)]
    }
}
