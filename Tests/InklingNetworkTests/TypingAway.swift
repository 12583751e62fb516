import SeededRandom

extension NodeProcess {
    /// Types with pauses until `end`, and sends or deletes each text. No pause within a text is long enough to end the
    /// typing.
    ///
    /// - Returns: The message of each text that was sent, and nil for each text that was deleted.
    func typeAway(until end: Double, seed: UInt64) async throws -> [String?] {
        var random = SeededGenerator(seed: seed)
        var texts: [String?] = []
        while now() < end {
            let length = Double(random.number(in: 800...3_500)) / 1_000
            let thinks = random.number(in: 1...5) == 1
            let isSent = random.number(in: 1...10) <= 7
            let text = "\(name), number \(texts.count)"
            var typed = "x"
            let start = compose(typed)
            if thinks { try await pause(Double(random.number(in: 1_000...2_400)) / 1_000) }
            while now() < start + length {
                try await pause(Double(random.number(in: 60...250)) / 1_000)
                typed += "x"
                compose(typed)
            }
            if isSent { send(text) } else { compose("") }
            texts.append(isSent ? text : nil)
            try await pause(Double(random.number(in: 600...1_400)) / 1_000)
        }
        return texts
    }

    /// Lets all nodes type at the same time.
    static func typeAway(_ nodes: [NodeProcess], seconds: Double) async throws -> [[String?]] {
        let end = now() + seconds
        return try await withThrowingTaskGroup(of: (Int, [String?]).self) { group in
            for (index, node) in nodes.enumerated() {
                group.addTask { (index, try await node.typeAway(until: end, seed: UInt64(index))) }
            }
            var texts = [[String?]](repeating: [], count: nodes.count)
            for try await (index, own) in group { texts[index] = own }
            return texts
        }
    }

    func offlineEvents(from mark: Int) -> [Event] {
        events.dropFirst(mark).filter { $0.on == "peer" && $0.presence == "offline" }
    }

    func messages(from peer: NodeProcess, after mark: Int = 0) -> [Event] {
        events.dropFirst(mark).filter { $0.on == "message" && $0.from?.name == peer.name }
    }
}
