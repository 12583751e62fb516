import InklingSimulator

/// Returns the coverage of runs as lines of text.
func report(_ coverage: Coverage) -> String {
    [
        "\(coverage.runs) runs: \(coverage.hosts) hosts, \(coverage.datagrams) datagrams, "
            + "\(coverage.virtualSeconds) s of virtual time",
        line("actions", coverage.actions, words), line("faults", coverage.faults, words),
        line("attacks", coverage.attacks, \.rawValue),
        line("states of a person", coverage.states, words),
        line("edges between them", coverage.edges) { "\(words($0.from)) → \(words($0.to))" },
        line("presence", coverage.presences, \.rawValue), line("failed messages", coverage.failures, \.rawValue),
        line("drops", coverage.drops, \.rawValue), line("nodes", coverage.counters, words),
    ].joined(separator: "\n")
}

private func line<Key>(_ name: String, _ counts: [Key: Int], _ words: (Key) -> String) -> String {
    "\(name) (\(counts.count)): "
        + counts.map { (words($0.key), $0.value) }.sorted { $0.0 < $1.0 }.map { "\($0.0) \($0.1)" }
        .joined(separator: ", ")
}

private func words(_ action: Scenario.Action.Kind) -> String {
    switch action {
    case .goAway: "go away"
    case .comeBack: "come back"
    case .crashWithLastWill: "crash with a last will"
    case .swapAddresses: "swap addresses"
    case .holdBack: "hold back"
    case .handOver: "hand over"
    case .edit, .empty, .send, .open, .join, .leave, .rename, .block, .unblock, .quit, .crash, .start, .suspend,
        .resume, .pause, .sleep, .snapshot, .revert, .unplug, .partition, .clog, .move, .flap, .doubt, .remove, .renew,
        .rush, .leak, .forge, .disown, .confess:
        "\(action)"
    }
}

private func words(_ fault: Coverage.NetworkFault) -> String {
    switch fault {
    case .lostInBurst: "lost in bursts"
    case .overflown: "overflown sockets"
    case .lost, .doubled, .reordered, .damaged, .cut, .clogged, .replayed: "\(fault)"
    }
}

private func words(_ state: Coverage.PersonState) -> String {
    state.presence.rawValue + (state.isTyping ? ", typing" : "")
}

private func words(_ counter: Coverage.NodeCounter) -> String {
    switch counter {
    case .linksDown: "links down"
    case .linksForgotten: "links forgotten"
    case .staleClears: "stale clears"
    case .lateTimers: "late timers"
    case .typingStarts: "typing starts"
    case .typingStartsLimited: "typing starts limited"
    case .messagesSent: "messages sent"
    case .messagesReceived: "messages received"
    case .handshakes, .links, .records, .delivered, .failed: "\(counter)"
    }
}
