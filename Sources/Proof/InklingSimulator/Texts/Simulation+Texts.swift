import InklingCore
import InklingWire

/// The daemons of nodes that keep texts, and the checks of these texts (M-80 to M-86).
extension Simulation {
    // MARK: The writer

    /// Keeps a text for all other people, and sends it to those for whom no older text waits.
    func sendKept(_ host: SimulatedHost, _ chat: Int, _ size: Int) {
        guard let node = host.node, case .running = host.state else { return }
        let people = Set(hosts.map(\.key)).subtracting([host.key]).sorted()
        guard let (index, text) = texts?.add(size: size, by: host.index, for: people) else { return }
        host.writing[chat].end()
        host.typing[chat].end(now, byMessage: true)
        let reachable = node.endpoint.recipients(in: chats[chat].id)
        var (ids, waiting): ([PublicKey: TextID], Set<PublicKey>) = ([:], [])
        for key in people {
            let id = host.store.nextID(for: key, now)
            let isFirst =
                !host.store.due.contains(key) && !(host.store.own[key] ?? []).contains { $0.message == nil }
            host.store.own[key, default: []].append(.init(index: index, text: text, id: id, message: nil))
            if reachable.contains(key), isFirst, host.store.sendable(to: key).last?.index == index {
                ids[key] = id
            } else {
                waiting.insert(key)
            }
        }
        trace { "host \(host.index) writes \(text.prefix(24)), for \(ids.count) at once" }
        var message: UInt64?
        input(host) {
            message = try? $0.send(text, to: self.chats[chat].id, ids: ids, without: waiting, now: $1).message
        }
        for key in ids.keys.sorted() {
            if let message { host.store.sent(index, to: key, as: message) }
        }
    }

    /// Sends the unfinished texts of a person soon, after the daemon has read them from its disk.
    func becomeReachable(_ key: PublicKey, for host: SimulatedHost) {
        host.store.due.insert(key)
        let pause = Duration.milliseconds(host.lateness.pick([0, 1, 20, 300]))
        events.add(.flush(host: host.index, incarnation: host.incarnation, key), at: now + pause)
    }

    /// Sends the unfinished texts of a person, the oldest first.
    func flush(_ host: SimulatedHost, _ incarnation: Int, _ key: PublicKey) {
        guard host.incarnation == incarnation, let node = host.node else { return }
        guard case .running = host.state, !node.isSuspended else {
            return events.add(.flush(host: host.index, incarnation: incarnation, key), at: now + .milliseconds(500))
        }
        host.store.due.remove(key)
        for own in host.store.sendable(to: key) {
            var message: UInt64?
            input(host) { message = try? $0.resend(own.text, own.id, to: key, in: self.chats[0].id, now: $1) }
            guard let message else { return }
            trace { "host \(host.index) sends \(own.text.prefix(24)) again, as \(message)" }
            host.store.sent(own.index, to: key, as: message)
        }
    }

    /// Records the outcome of a message. After a failure, the text waits.
    func finish(_ message: UInt64, for key: PublicKey, isDelivered: Bool, _ host: SimulatedHost) {
        guard let place = host.store.own[key]?.firstIndex(where: { $0.message == message }) else {
            guard !isDelivered else { return }
            host.store.failedAtOnce.insert(message)
            return events.add(
                .flush(host: host.index, incarnation: host.incarnation, key), at: now + .seconds(1))
        }
        if isDelivered {
            let own = host.store.own[key]?.remove(at: place)
            if let own, texts?.isShown(own.index, to: key, hosts) == false {
                checker.report(.lostMessage, "\(own.text.prefix(24)) delivered and not kept", now)
            }
        } else {
            host.store.own[key]?[place].message = nil
        }
        guard host.store.own[key]?.contains(where: { $0.message == nil }) ?? false else { return }
        let pause = isDelivered ? Duration.zero : .seconds(1)
        events.add(.flush(host: host.index, incarnation: host.incarnation, key), at: now + pause)
    }

    // MARK: The recipient

    func receiveKept(_ text: String, _ id: TextID, _ number: UInt64, from key: PublicKey, _ host: SimulatedHost) {
        trace { "host \(host.index) receives text \(text.prefix(24))" }
        host.store.received.append(.init(number: number, key: key, id: id, text: text))
        guard host.store.received.count == 1 else { return }
        let pause = Duration.milliseconds(host.lateness.pick([0, 1, 5, 20, 100, 700]))
        events.add(.commit(host: host.index, incarnation: host.incarnation), at: now + pause)
    }

    /// Writes all received texts and their IDs to the disk at once. From then on the user sees them.
    func commit(_ host: SimulatedHost, _ incarnation: Int) {
        guard host.incarnation == incarnation, host.node != nil else { return }
        guard case .running = host.state else {
            return events.add(.commit(host: host.index, incarnation: incarnation), at: now + .milliseconds(100))
        }
        let received = host.store.received
        host.store.received = []
        for item in received {
            host.store.seen[item.key, default: SeenTexts()].insert(item.id)
            trace { "host \(host.index) keeps text \(item.text.prefix(24))" }
            guard let rule = texts?.show(item.text, on: host) else { continue }
            checker.report(rule, "host \(host.index): \(item.text.prefix(24))", now)
        }
        input(host) { $0.textsKept(received.map(\.number), now: $1) }
    }

    // MARK: Checks

    /// Returns the texts that no device of their recipient has shown. All of them are on the writers' disks.
    func unshownTexts() -> [String] {
        guard let texts else { return [] }
        return texts.texts.indices.flatMap { index in
            texts.texts[index].recipients.filter { !texts.isShown(index, to: $0, hosts) }.map { key in
                let identity = hosts.first { $0.key == key }?.plan.identity ?? -1
                return "\(texts.texts[index].text.prefix(24)) is not shown to identity \(identity)"
            }
        }
    }

    /// Checks how often nodes repeat texts. The timer of a link runs out at most five times a second (M-11). Then one
    /// text goes, and others as the window grows again.
    func checkTexts() {
        guard texts != nil else { return }
        for host in hosts {
            guard let counters = host.node?.endpoint.counters else { continue }
            let number = counters.textsRetransmitted
            let before = texts?.repeats[host.index] ?? (at: now, number: 0)
            guard now - before.at >= .seconds(1) || number < before.number || before.at == now else { continue }
            texts?.repeats[host.index] = (now, number)
            let seconds = Int((now - before.at).nanoseconds / 1_000_000_000) + 1
            guard number - before.number > 5 * seconds * 4 * hosts.count else { continue }
            checker.report(.traffic, "host \(host.index) repeats \(number - before.number) texts", now)
        }
    }
}
