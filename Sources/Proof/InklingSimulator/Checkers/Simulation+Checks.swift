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
            for chat in host.chats.sorted() {
                for person in host.node?.endpoint.present(in: chats[chat].id) ?? []
                where person.addresses.count > 1 {
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
