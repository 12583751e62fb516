import Foundation
import Testing

extension NetworkTests {
    /// `INKLING_ENDURANCE_MINUTES` makes the test longer, such as 30 minutes.
    @Suite("Endurance", .serialized, .sideBySide) struct EnduranceTests {
        // R2, R25, R26, R27
        @Test(
            "a chat opened, used and closed 1,000 times, with one datagram in ten lost, leaves nothing behind, here or there",
            .long)
        func openedAndClosed() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                for host in network.hosts { try await host.dropOneInTen() }
                let processes = try nodes.flatMap { try $0.processes() }
                let growth = try await EnduranceTests.openAndClose(nodes[0], nodes[1], processes)
                EnduranceTests.expectNone(growth)
                try await EnduranceTests.expectUnharmed(nodes)
            }
        }

        private static let sideRoom = "side room"

        /// Lets one of two nodes stay in a further chat, while the other joins and leaves it again and again.
        private static func openAndClose(
            _ alice: NodeProcess, _ bob: NodeProcess, _ processes: [pid_t]
        ) async throws -> Growth {
            bob.tell(["do": "join", "chat": sideRoom])
            var growth = Growth()
            let start = now()
            var round = 0
            while round < 1_000 || now() < start + 60 * Double(enduranceMinutes) {
                defer { round += 1 }
                let mark = alice.mark
                alice.tell(["do": "join", "chat": sideRoom])
                // Some rounds are long enough for a link, and for typing and a message on the link.
                if round.isMultiple(of: 20) {
                    try await alice.wait("Bob in the side room", from: mark, within: 10) {
                        $0.isPresence("online", of: bob.name) && $0.chat == sideRoom
                    }
                    bob.tell(["do": "compose", "text": "\(round)", "chat": sideRoom])
                    try await alice.wait("Bob typing there", from: mark) {
                        $0.chat == sideRoom && $0.typists == [bob.name]
                    }
                    bob.tell(["do": "send", "text": "\(round)", "chat": sideRoom])
                    try await alice.wait("Bob's message there", from: mark) {
                        $0.on == "message" && $0.chat == sideRoom && $0.text == "\(round)"
                    }
                }
                alice.tell(["do": "leave", "chat": sideRoom])
                guard round % 10 == 9 else { continue }
                // The pause lets the node process each command before the next ones.
                alice.tell(["do": "who"])
                try await alice.wait("what it was asked for", from: mark, within: 20) { $0.on == "who" }
                try await pause(0.05)
                try growth.sample(processes)
            }
            figure("\(round) times opened and closed in \(seconds(now() - start)): \(growth.text)")
            // The nodes may still close sockets and end threads.
            try await pause(2)
            for _ in 0..<30 { try growth.sample(processes) }
            figure("and 2 s later: \(growth.text); threads where they grew most: \(growth.threadNames)")
            return growth
        }

        private static func expectUnharmed(_ nodes: [NodeProcess]) async throws {
            try await waitUntilAllOnline(nodes)
            for node in nodes {
                let trouble = node.events.filter {
                    $0.on == "error" || ($0.presence == "offline" && $0.chat != sideRoom)
                }
                #expect(trouble.isEmpty, "at \(node.name)")
            }
        }

        /// Expects that the resources do not grow. Some steps are normal: an allocator takes a mebibyte at a time. The
        /// runtime makes the threads of its pools at first use, as many as there are processors.
        private static func expectNone(_ growth: Growth) {
            #expect(growth.compare(\.memory).allSatisfy { $0.growth <= 1_024 })
            #expect(growth.compare(\.descriptors).allSatisfy { $0.growth <= 0 })
            let processors = ProcessInfo.processInfo.activeProcessorCount
            #expect(growth.compare(\.threads).allSatisfy { $0.growth <= processors }, "\(growth.threadNames)")
        }
    }
}

extension NodeProcess {
    /// Returns the process IDs of the program and its helper, in the test's process namespace.
    fileprivate func processes() throws -> [pid_t] {
        guard let program else { throw HarnessError("\(name) has ended") }
        return [program, try helper()]
    }
}
