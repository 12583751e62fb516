import InklingCore
import InklingWire

/// The simulated discovery: late, sometimes long after the truth, and never across a path that is cut.
extension Simulation {
    struct Advertisement {
        let host: Int
        let chat: Int
        let key: PublicKey
    }

    /// Advertises a node in a chat, under a new name.
    func advertise(_ host: SimulatedHost, _ chat: Int) {
        guard !scenario.network.isByHand, host.node != nil else { return }
        if let old = host.instanceNames[chat] { withdraw(old) }
        host.advertisements += 1
        let name = "host \(host.index), \(host.advertisements)"
        host.instanceNames[chat] = name
        instances[name] = Advertisement(host: host.index, chat: chat, key: host.key)
        announce(name)
    }

    /// Advertises the same instance at its current addresses.
    func advertiseAgain(_ host: SimulatedHost, _ chat: Int) {
        if let name = host.instanceNames[chat], instances[name] != nil { announce(name) }
    }

    private func announce(_ name: String) {
        guard let instance = instances[name] else { return }
        for viewer in hosts where viewer.index != instance.host {
            events.add(.announcement(viewer: viewer.index, instance: name), at: now + discoveryDelay())
        }
    }

    /// Asks discovery for the other nodes in a chat.
    func browse(_ host: SimulatedHost, _ chat: Int) {
        guard !scenario.network.isByHand else { return }
        for (name, instance) in instances.sorted(by: { $0.key < $1.key })
        where instance.chat == chat && instance.host != host.index {
            events.add(.announcement(viewer: host.index, instance: name), at: now + discoveryDelay())
        }
    }

    func announce(_ name: String, to viewer: SimulatedHost) {
        guard let instance = instances[name], viewer.node != nil, viewer.browsed.contains(instance.chat) else { return }
        let host = hosts[instance.host]
        let isListening = if case .running = viewer.state { !viewer.isUnplugged } else { false }
        let isReachable =
            isListening && !host.isUnplugged && !host.isAsleep
            && !network.isCut(from: host.index, to: viewer.index, now)
        guard isReachable else {
            // Discovery reports a peer that was cut off at the next query or announcement that gets through.
            if hasFaults {
                events.add(.announcement(viewer: viewer.index, instance: name), at: now + .milliseconds(1_000))
            }
            return
        }
        trace { "host \(viewer.index) finds \(name)" }
        liveness.introduced(name, of: host.index, in: instance.chat, to: viewer, now)
        input(viewer) {
            $0.found(
                name, chat: self.chats[instance.chat].id, key: instance.key, addresses: host.addresses, now: $1)
        }
    }

    /// Withdraws a node's instance. The other nodes notice up to a second later.
    func withdraw(_ host: SimulatedHost, _ chat: Int) {
        guard let name = host.instanceNames.removeValue(forKey: chat) else { return }
        withdraw(name)
    }

    private func withdraw(_ name: String) {
        guard let instance = instances.removeValue(forKey: name) else { return }
        for viewer in hosts where viewer.index != instance.host {
            events.add(
                .withdrawal(viewer: viewer.index, instance: name),
                at: now + .milliseconds(generator.number(in: 100...1_000)))
        }
        withdrawn[name] = instance
    }

    func withdraw(_ name: String, from viewer: SimulatedHost) {
        guard let instance = instances[name] ?? withdrawn[name], viewer.node != nil else { return }
        trace { "host \(viewer.index) loses \(name)" }
        liveness.forgot(instance.host, in: instance.chat, at: viewer.index)
        input(viewer) { $0.lost(name, chat: self.chats[instance.chat].id, now: $1) }
    }

    /// Expires the instance of a node that has not renewed it for long.
    func expire(_ host: SimulatedHost, _ chat: Int) {
        guard let name = host.instanceNames[chat] else { return }
        for viewer in hosts where viewer.index != host.index {
            events.add(
                .withdrawal(viewer: viewer.index, instance: name),
                at: now + .milliseconds(generator.number(in: 75_000...120_000)))
        }
    }

    func loseAll(_ host: SimulatedHost, _ chat: Int) {
        for (name, instance) in instances.sorted(by: { $0.key < $1.key })
        where instance.chat == chat && instance.host != host.index {
            withdraw(name, from: host)
        }
    }

    private func discoveryDelay() -> Duration {
        .milliseconds(generator.number(in: 100...(hasFaults ? scenario.network.discoveryDelay : 1_000)))
    }
}
