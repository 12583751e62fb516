import InklingCore
import InklingWire

/// The actions of people and the faults of the network.
extension Simulation {
    func perform(_ step: Scenario.Step) {
        let host = hosts[step.host]
        guard !host.isAsleep else { return }
        trace { "host \(host.index): \(step.action) (step \(step.number))" }
        coverage.actions[step.action.kind, default: 0] += 1
        switch step.action {
        case .edit, .empty, .open, .send, .join, .leave, .goAway, .comeBack, .rename, .block, .unblock, .suspend,
            .resume:
            guard case .running = host.state else { return }
            actAsPerson(host, step.action)
        case .remove, .handOver, .renew, .rush, .leak, .forge, .disown, .confess:
            guard case .running(let node) = host.state, !node.isSuspended else { return }
            input(host) { $0.advance(to: $1) }
            limits.resetReports(of: host.index)
            actOnChain(host, step.action)
        case .quit, .crash, .start, .pause, .sleep, .snapshot, .revert:
            limits.resetReports(of: host.index)
            actOnMachine(host, step.action)
        case .unplug, .partition, .clog, .holdBack, .move, .swapAddresses, .flap, .doubt:
            actOnNetwork(host, step.action)
        }
        accuracy?.wrote(host.index, now)
    }

    // MARK: People

    private func actAsPerson(_ host: SimulatedHost, _ action: Scenario.Action) {
        // A timer due at the same moment runs before the action.
        input(host) { $0.advance(to: $1) }
        switch action {
        case .leave, .block, .unblock: limits.resetReports(of: host.index)
        default: break
        }
        switch action {
        case .edit(let chat): edit(host, chat)
        case .empty(let chat): empty(host, chat)
        case .open(let chat):
            for other in host.chats.sorted() where other != chat { empty(host, other) }
        case .send(let chat, let size): send(host, chat, size)
        case .join(let chat): join(host, chat)
        case .leave(let chat): leave(host, chat)
        case .goAway, .comeBack:
            host.node?.isAway = action == .goAway
            host.node?.awayChangedAt = now
            traffic.changedAway(host.index)
            if action == .goAway {
                host.stopWriting()
                for chat in host.typing.indices { host.typing[chat].end(now) }
            }
            input(host) { $0.setAway(action == .goAway, now: $1) }
        case .rename:
            host.takeAnotherName()
            host.node?.noteNewName(now)
            input(host) { $0.rename(host.name, now: $1) }
        case .block(let other): block(host, hosts[other])
        case .unblock(let other):
            let identity = hosts[other].plan.identity
            guard host.blocks(identity) else { return }
            host.blocks[identity] = .ended(at: now)
            input(host) { $0.unblock(self.hosts[other].key.userID, now: $1) }
        case .suspend: suspend(host)
        case .resume: resume(host)
        default: return
        }
    }

    /// Performs a user's action after the faults.
    func act(_ host: SimulatedHost, _ action: Scenario.Action) {
        actAsPerson(host, action)
        accuracy?.wrote(host.index, now)
    }

    func edit(_ host: SimulatedHost, _ chat: Int) {
        guard host.chats.contains(chat), host.node?.isSuspended != true else { return }
        host.writing[chat].edit(now)
        if accuracy != nil { events.add(.writingEnds(host: host.index), at: now + Limits.typingIdleStop) }
        if host.plan.sendsTyping { host.typing[chat].edit(now) }
        let text = "draft \(host.writing[chat].edits)"
        input(host) { try? $0.compose(text, in: self.chats[chat].id, now: $1) }
    }

    func empty(_ host: SimulatedHost, _ chat: Int) {
        guard host.chats.contains(chat) else { return }
        host.writing[chat].end()
        host.typing[chat].end(now)
        input(host) { try? $0.compose("", in: self.chats[chat].id, now: $1) }
    }

    func send(_ host: SimulatedHost, _ chat: Int, _ size: Int) {
        guard host.chats.contains(chat), let node = host.node, !node.isSuspended else { return }
        if texts != nil { return sendKept(host, chat, size) }
        let tag = chats[chat].id
        let people = node.endpoint.present(in: tag).map(\.person.key)
        let identities = people.compactMap { key in hosts.first { $0.key == key }?.plan.identity }
        let others = people.count { adversary?.holds($0) ?? false }
        let text = checker.messages.text(size: size, from: host.index)
        host.writing[chat].end()
        host.typing[chat].end(now, byMessage: true)
        // The core reports the outcome within the same input.
        let number = UInt64(node.endpoint.counters.messagesSent + 1)
        checker.messages.send(text, host: host, chat: chat, number: number, to: identities, now)
        liveness.sent(message: checker.messages.sent.count - 1, by: host, in: chat, self)
        var sent: (message: UInt64, recipients: Int)?
        input(host) { sent = try? $0.send(text, to: tag, now: $1) }
        // People whose links are down receive the message when the links come up, although they are not shown
        // (M-36).
        let recipients = (sent?.recipients ?? 0) - others
        checker.messages.went(to: recipients, isExact: adversary == nil)
        if sent?.message != number || recipients < identities.count {
            checker.report(
                .wrongReport, "host \(host.index) sends to \(identities), reports \(String(describing: sent))", now)
        }
    }

    func join(_ host: SimulatedHost, _ chat: Int) {
        guard host.node?.isSuspended != true, host.lie != chat, !host.hasMoved(from: chat),
            host.chats.insert(chat).inserted
        else {
            return
        }
        host.disturbedAt = now
        if chat >= Simulation.chats.count, host.membership == nil { host.membership = Membership(chat: chat) }
        enter(host, chat)
        recall(host, chat)
        advertise(host, chat)
        browse(host, chat)
    }

    func leave(_ host: SimulatedHost, _ chat: Int) {
        guard host.chats.contains(chat), host.node?.isSuspended != true else { return }
        host.chats.remove(chat)
        // A node that leaves a chat, and is in it again by a lie or an invite, may take the successor again.
        chain?.taken[Chain.Start(host: host.index, incarnation: host.incarnation)]?.remove(chats[chat].id)
        sayFarewell(host, chat)
        keepAddresses(host, chat)
        input(host) { try? $0.leave(self.chats[chat].id, now: $1) }
        limits.left(chats[chat].id, by: host.index)
        host.writing[chat].end()
        host.typing[chat] = TypingModel()
        for other in hosts { liveness.forgot(other.index, in: chat, at: host.index) }
        checker.forget(host.index, chat: chat)
        withdraw(host, chat)
    }

    private func block(_ host: SimulatedHost, _ other: SimulatedHost) {
        let identity = other.plan.identity
        guard identity != host.plan.identity, host.node?.isSuspended != true, !host.blocks(identity) else { return }
        host.blocks[identity] = .inForce
        input(host) { $0.block(other.key.userID, now: $1) }
    }

    func suspend(_ host: SimulatedHost) {
        guard let node = host.node, !node.isSuspended else { return }
        for chat in host.chats.sorted() { sayFarewell(host, chat) }
        host.stopWriting()
        host.abandonTyping()
        node.isSuspended = true
        limits.resetReports(of: host.index)
        input(host) { $0.suspend(now: $1) }
        checker.forgetHeard(by: host.index)
    }

    func resume(_ host: SimulatedHost) {
        guard let node = host.node, node.isSuspended else { return }
        node.isSuspended = false
        host.disturbedAt = now
        input(host) { $0.resume(now: $1) }
        // The node registers again (L-88). Members of other chats find each other all the same.
        if chain != nil { for chat in host.chats.sorted() { advertise(host, chat) } }
    }

    /// Records a farewell. Earlier datagrams of the node count as before the farewell; later ones may be farewells.
    func sayFarewell(_ host: SimulatedHost, _ chat: Int) {
        expectDeparture(of: host, from: chat)
        host.farewells[chat] = lastNumber
        host.farewellsEnd = now + .milliseconds(130) + .microseconds(2 * host.plan.lateness)
    }

    /// Expects that all viewers with a settled link see a farewell at once, if the network loses nothing.
    private func expectDeparture(of host: SimulatedHost, from chat: Int) {
        let isLossless = !hasFaults || scenario.faults.isDisjoint(with: [.loss, .bursts, .corruption])
        // A replayed initiation may cause a second handshake, at another address.
        guard isLossless, !scenario.faults.contains(.replay), isCalm(host) else { return }
        let identity = host.plan.identity
        guard hosts.filter({ $0.plan.identity == identity }).count == 1 else { return }
        var time = Duration.milliseconds(50) + .microseconds(scenario.network.delay.upperBound)
        if hasFaults, scenario.network.reordering > 0 { time += .milliseconds(scenario.network.reorderingDelay) }
        // During an attack a farewell waits in the viewer's socket as long as a typing frame does.
        if adversary != nil { time = max(time + .milliseconds(80), LivenessChecker.typingOfFriends) }
        for viewer in hosts where viewer.index != host.index && viewer.isActive && isCalm(viewer) {
            guard viewer.chats.contains(chat), host.blocks[viewer.plan.identity] == nil,
                isPromised(host, viewer, in: chat)
            else { continue }
            checker.expectDeparture(
                .init(
                    host: host.index, incarnation: host.incarnation, viewer: viewer.index, chat: chat, at: now,
                    due: now + time), identity: identity)
        }
    }

    /// Returns whether a host has been undisturbed for a while. A host with two addresses never counts: a peer may open
    /// to its other address while it has a link.
    private func isCalm(_ host: SimulatedHost) -> Bool {
        !host.isUnplugged && !host.plan.hasTwoAddresses && now - host.disturbedAt > .seconds(3)
    }

    // MARK: The network

    private func actOnNetwork(_ host: SimulatedHost, _ action: Scenario.Action) {
        switch action {
        case .unplug(let length):
            guard !host.isUnplugged else { return }
            host.isUnplugged = true
            host.disturbedAt = now
            if length > 2_000 { changeNetworks(host) }
            events.add(.replug(host: host.index), at: now + .milliseconds(length))
        case .partition(let other, let length):
            network.cut(from: host.index, to: other, until: now + .milliseconds(length))
            disturb(host, hosts[other], for: length)
        case .clog(let other, let length):
            network.clog(from: host.index, to: other, until: now + .milliseconds(length))
            disturb(host, hosts[other], for: length)
        case .holdBack(let other, let pause):
            let path = Hold(from: host.index, to: other)
            guard held[path] == nil, case .running = host.state else { return }
            held[path] = []
            holdPause = .milliseconds(pause)
            events.add(.holdEnds(from: host.index, to: other), at: now + .milliseconds(500))
        case .move:
            guard !scenario.network.isByHand else { return }
            moves += 1
            let plan = host.plan
            let port = host.addresses.first?.port ?? 4_000
            setAddresses(host, Simulation.addresses(60 + moves, port: port, plan))
            moved(host)
        case .swapAddresses(let index):
            guard !scenario.network.isByHand else { return }
            let (mine, theirs) = (host.addresses, hosts[index].addresses)
            setAddresses(host, theirs)
            setAddresses(hosts[index], mine)
            moved(host)
            moved(hosts[index])
        case .flap(let length, let index):
            for (name, instance) in instances.sorted(by: { $0.key < $1.key }) where instance.host == index {
                events.add(.withdrawal(viewer: host.index, instance: name), at: now)
                events.add(.announcement(viewer: host.index, instance: name), at: now + .milliseconds(length))
            }
        case .doubt(let index):
            for address in hosts[index].addresses { input(host) { $0.doubt(address, now: $1) } }
        default: return
        }
    }

    func replug(_ host: SimulatedHost) {
        guard host.isUnplugged else { return }
        host.isUnplugged = false
        host.disturbedAt = now
        changeNetworks(host)
        for chat in host.browsed {
            advertiseAgain(host, chat)
            browse(host, chat)
        }
    }

    private func disturb(_ left: SimulatedHost, _ right: SimulatedHost, for length: Int) {
        for host in [left, right] { host.disturbedAt = max(host.disturbedAt, now + .milliseconds(length)) }
    }

    private func moved(_ host: SimulatedHost) {
        host.movedAt = now
        host.disturbedAt = now
        changeNetworks(host)
        for chat in host.chats.sorted() { advertiseAgain(host, chat) }
    }

    func changeNetworks(_ host: SimulatedHost) {
        let port = host.addresses.first?.port ?? 4_000
        input(host) { $0.setNetworks(host.networks, port: port, now: $1) }
    }

    func setAddresses(_ host: SimulatedHost, _ addresses: [Address]) {
        for address in host.addresses where hostsByAddress[address] == host.index { hostsByAddress[address] = nil }
        host.addresses = addresses
        for address in addresses { hostsByAddress[address] = host.index }
    }

    // MARK: The end of the faults

    /// Ends all faults. From now on the network is good, and all nodes take part.
    func endFaults() {
        hasFaults = false
        trace { "the faults end" }
        network.repair(now)
        for host in hosts {
            switch host.state {
            case .asleep: wake(host)
            case .paused(_, let pause): unpause(host, pause.number)
            case .off, .running: break
            }
            if host.isUnplugged { replug(host) }
            resume(host)
            endLies(of: host)
            // Members who are present need the owners.
            if chain?.ownerHosts.contains(host.index) ?? false || texts != nil { start(host) }
            for chat in host.browsed {
                if host.chats.contains(chat) { act(host, .empty(chat: chat)) }
                if scenario.network.isFoundAnew { browse(host, chat) }
            }
        }
    }
}
