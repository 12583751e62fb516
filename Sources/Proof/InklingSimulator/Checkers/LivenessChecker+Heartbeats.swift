import InklingCore
import InklingWire

/// The rules for the times of heartbeats (T-8, T-11).
extension LivenessChecker {
    /// Returns whether only the idle interval caused the heartbeats between two hosts. A link that comes up, gets its
    /// name or goes down sends additional heartbeats (L-44, L-82). For a person with several devices the checker cannot
    /// see such changes.
    func hasBeatenOnlyIdly(
        _ sender: SimulatedHost, _ receiver: SimulatedHost, since instant: Instant, _ simulation: Simulation
    ) -> Bool {
        guard single.contains(receiver.plan.identity) else { return false }
        let chats = sender.chats.intersection(receiver.chats)
        // A link in an owner's chat that the receiver has left may go down unseen.
        let isApart = sender.browsed.contains { $0 >= Simulation.chats.count && !chats.contains($0) }
        guard !isApart else { return false }
        return !chats.isEmpty
            && chats.allSatisfy { chat in
                let since = simulation.checker.shownSince(receiver.plan.identity, in: chat, by: sender.index)
                return since.map { instant - $0 > .seconds(1) } ?? false
            }
    }

    /// Checks the time of a heartbeat that a node sends on a session (T-8, T-11).
    ///
    /// - Parameters:
    ///   - receiver: The host at the destination; nil if none is there.
    ///   - isFormer: Whether a host had this address before. The link to it goes down at some time.
    func checkBeat(
        of sender: SimulatedHost, to receiver: Int?, isFormer: Bool, _ bytes: [UInt8], _ simulation: Simulation
    ) {
        let now = simulation.now
        let id = SessionID(sender: sender.index, index: SealedHeader(bytes).index)
        let interval = simulation.idleInterval(of: sender)
        // A heartbeat follows at once when the peer's first name arrives (L-82).
        let mayNameLink = simulation.checker.lastRecord[sender.index] == now
        defer {
            beats[id] = Beat(
                at: now, first: beats[id]?.first ?? now, interval: interval, mayNameLink: mayNameLink)
        }
        let isPunctual = simulation.isPunctual(sender)
        guard let beat = beats[id], isPunctual || simulation.adversary != nil, sender.plan.lateness == 0,
            now - sender.disturbedAt > .seconds(3), sender.departures.isEmpty, sender.lie == nil,
            // A change of the away bit goes out at once, and puts no heartbeat off (T-21, T-11).
            let node = sender.node, node.awayChangedAt < beat.at, !mayNameLink, !beat.mayNameLink
        else { return }
        if let receiver {
            // The link of an earlier run goes down at some time, while the link of the present run shows the person.
            guard hosts[receiver].incarnation == 1 || beat.first >= hosts[receiver].startedAt else { return }
            let handshake = lastHandshake(between: sender, hosts[receiver])
            // A host that has just moved may now have the address of another host's link.
            guard hosts[receiver].movedAt.map({ now - $0 > .seconds(3) }) ?? true,
                handshake == .zero || beat.at - handshake > Limits.joinPingPeriod,
                hasBeatenOnlyIdly(sender, hosts[receiver], since: beat.at, simulation)
            else { return }
        } else if beat.at - beat.first < .seconds(2) || !simulation.isAttacked || isFormer {
            // A link sends additional heartbeats when it comes up, when the peer names itself (L-82), and when it
            // goes down (L-44).
            return
        }
        func report(_ text: String) {
            if let receiver { return suspicions.append((sender.index, receiver, now, text)) }
            simulation.checker.report(.heartbeats, text, now)
        }
        let gap = now - beat.at
        for chat in sender.chats { sender.typing[chat].advance(to: now) }
        let edges = sender.chats.compactMap { sender.typing[$0].edge?.at }
        let isTyping = sender.chats.contains { sender.typing[$0].announcedSince != nil }
        let isQuiet = edges.allSatisfy { $0 < beat.at }
        if isQuiet, !isTyping {
            let shortest = min(beat.interval, interval) * Limits.idleJitterPercent.lowerBound / 100
            // The node may have scheduled this heartbeat before the typing that has just ended.
            let isFresh = edges.allSatisfy { beat.at - $0 > .seconds(3) }
            let isLate = isPunctual && gap > max(beat.interval, interval)
            guard isLate || (isFresh && gap < shortest) else { return }
            report("host \(sender.index), \(gap) after the one before")
        } else if isPunctual, isTyping, isQuiet, sender.chats.count == 1, gap != Limits.typingHeartbeat {
            report("host \(sender.index) types, \(gap) after the one before")
        } else if isPunctual, isTyping, sender.chats.count == 1, let edge = edges.first, beat.at < edge,
            now - edge != Limits.typingHeartbeat
        {
            report("host \(sender.index) types, \(now - edge) after its edge")
        }
    }
}
