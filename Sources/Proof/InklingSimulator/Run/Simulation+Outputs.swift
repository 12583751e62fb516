import InklingCore
import InklingWire

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
