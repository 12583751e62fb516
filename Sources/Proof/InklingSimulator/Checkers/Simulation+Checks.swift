import InklingCore
import InklingWire

/// The queries and reports of the checkers.
extension Simulation {
    /// Returns whether a node acts at the right times: its timers are not late, and the node was not stopped lately.
    func isPunctual(_ host: SimulatedHost) -> Bool {
        guard adversary == nil, host.plan.lateness == 0, case .running = host.state else { return false }
        return host.wokeAt.map { now - $0 > .seconds(5) } ?? true
    }

    /// Returns the idle interval of a node, which depends on the number of its links (T-11).
    func idleInterval(of host: SimulatedHost) -> Duration {
        let tenths =
            ((host.node?.links ?? 0) * 10 + Limits.idleHeartbeats - 1) / Limits.idleHeartbeats
        return min(max(.milliseconds(100 * tenths), Limits.idleInterval), Limits.maximumIntervalTaken)
    }

    /// Returns the longest time from the announcement of typing until the viewer shows it.
    func slowestTyping(from writer: SimulatedHost, to viewer: SimulatedHost) -> Duration {
        let lateness = hasFaults ? writer.plan.lateness + viewer.plan.lateness : 0
        // A list waits up to 50 ms for others (T-22).
        let time = Duration.microseconds(scenario.network.delay.upperBound + lateness) + .milliseconds(60)
        return adversary == nil ? time : max(time + .milliseconds(80), LivenessChecker.typingOfFriends)
    }

    /// Checks a datagram that a node sends.
    func check(_ bytes: [UInt8], _ kind: DatagramKind, by host: SimulatedHost, to address: Address) {
        let receiver = hostsByAddress[address]
        if let receiver {
            let interval = idleInterval(of: host)
            liveness.sent(kind, size: bytes.count, by: host.index, to: receiver, interval: interval, now)
        }
        if kind == .typing { liveness.checkTime(ofFrameBy: host, self) }
        if kind == .heartbeat {
            let isFormer = receiver == nil && address.port < Adversary.firstPort
            liveness.checkBeat(of: host, to: receiver, isFormer: isFormer, bytes, self)
        }
        guard let adversary, receiver == nil else { return }
        // A relay answers the node, so the limit for silent addresses does not apply to initiations to it (L-54).
        if kind == .initiation, adversary.isRelay(address) { return }
        let hadCookie = kind == .response && adversary.hadCookie(SealedHeader(bytes).index)
        let isKnown = adversary.mostLinks > 0
        report(
            limits.sent(
                bytes, kind, by: host, to: address, hadCookie: hadCookie, isKnown: isKnown,
                hearsAll: hearsAll(host), now), host)
    }

    /// Returns whether a node hears all links of the adversary, and got no hint that a peer may be gone (L-29, L-40).
    /// Under another attack at the same time, the adversary's heartbeats may be lost in a full socket.
    private func hearsAll(_ host: SimulatedHost) -> Bool {
        isAttacked && adversary?.plan.attacks == [.unheard]
            && now - max(host.disturbedAt, host.lateAt ?? .zero) > .seconds(3)
    }

    /// Checks that at most one link leads to each run of a node (L-61).
    func checkLinks() {
        for host in hosts where host.isActive {
            guard let node = host.node else { continue }
            for chat in host.chats.sorted() {
                let people = node.ask { $0.present(in: chats[chat].id) }
                for person in people where person.addresses.count > 1 {
                    let runs = hosts.filter { $0.key == person.person.key }.map(\.incarnation).reduce(0, +)
                    guard person.addresses.count > runs, adversary?.holds(person.person.key) != true else { continue }
                    checker.report(.doubledLink, "host \(host.index), chat \(chat): \(person.addresses.count)", now)
                }
            }
        }
    }

    func checkTables() {
        guard let adversary, isAttacked else { return }
        for host in hosts where host.isActive {
            report(limits.tables(of: host, in: chats[0].id, adversary), host)
        }
    }

    func report(_ excess: String?, _ host: SimulatedHost) {
        if let excess { checker.report(.limit, "host \(host.index): \(excess)", now) }
    }
}

/// A promise of the protocol that a run broke.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    /// The rules for every step of every run.
    package enum Rule: String, CaseIterable, Sendable {
        /// A node shows typing longer than 3.0 s after the last evidence of it.
        case staleTyping = "stale typing"
        /// A node shows typing that no datagram announced, or that came from an older datagram or another person.
        case untrueTyping = "untrue typing"
        /// A node shows its own user as typing.
        case ownTyping = "own typing"
        /// A node still shows a person typing after the message that ended the typing.
        case typingAfterMessage = "typing after message"
        /// A node shows an offline or blocked person as typing.
        case absentTyping = "absent typing"
        case doubledMessage = "doubled message"
        case reorderedMessage = "reordered message"
        case alteredMessage = "altered message"
        /// A message has no outcome, or was reported as delivered but never shown.
        case lostMessage = "lost message"
        case wrongReport = "wrong report"
        /// A message fails before its link is forgotten. A cable unplugged for 10 s would then lose the message.
        case hastyFailure = "hasty failure"
        /// During an attack, a message of a verified friend does not show in time.
        case lateMessage = "late message"
        /// Two datagrams sealed under one key and one counter.
        case reusedNonce = "reused nonce"
        /// A node reports a person as offline while datagrams of that person arrive.
        case falseOffline = "false offline"
        /// A node reports a farewell of a person who has not left, or is already back.
        case falseFarewell = "false farewell"
        /// A person said farewell in a good network, but a node does not show the person as gone.
        case lostFarewell = "lost farewell"
        /// A node shows a person as online long after silence should have ended it.
        case ghost
        /// A node shows a person again who has not answered lately.
        case revival
        /// A node holds two links to one run of another node.
        case doubledLink = "doubled link"
        /// A node does not show a person with whom it could exchange datagrams for long enough.
        case missingPerson = "missing person"
        /// A person types, but a node does not show it without a gap, although the path between them was whole.
        case missingTyping = "missing typing"
        /// A node shows an online person as away, or an away person as online.
        case wrongPresence = "wrong presence"
        /// A node shows a person under a wrong or outdated name.
        case wrongName = "wrong name"
        /// The typing frames of an edge and its copies are missing, late or surplus.
        case edges
        /// Heartbeats come too seldom or too often.
        case heartbeats
        /// An adversary got more than a limit allows.
        case limit
        /// A key that the owner did not choose, and that no member gave the secret, has a link in the owner's chat.
        case intruder
        /// A chosen member who is present is not in the owner's newest chat, although the network is good.
        case strandedMember = "stranded member"
        /// A node takes a successor of somebody else, a second one of a chat, or one that leads elsewhere.
        case falseMove = "false move"
        /// A node moves more often than its chain may.
        case hastyMove = "hasty move"
        /// A node shows somebody in a chat that it departed from, or sends its successor too often.
        case departedChat = "departed chat"
        case tableGrowth = "table growth"
        case traffic
        /// A node asks for a timer again and again although it has nothing to do.
        case spinning
        /// 10 s after the faults ended, the nodes disagree on presence, or typing or messages do not arrive.
        case divergence
    }

    package let rule: Rule
    package let at: Instant
    package let text: String

    package var description: String {
        let milliseconds = at.nanoseconds / 1_000_000
        return
            "\(rule.rawValue) at \(milliseconds / 1_000).\(String(milliseconds % 1_000 + 1_000).dropFirst()) s: \(text)"
    }
}
