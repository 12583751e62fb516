import Foundation
import Testing

extension NetworkTests {
    /// `INKLING_ENDURANCE_MINUTES` sets the minutes of traffic, such as 30. The default is half a minute.
    @Suite("Endurance", .serialized, .sideBySide) struct EnduranceTests {
        fileprivate static func startCrowd(_ count: Int, on hosts: [Host]) async throws -> [NodeProcess] {
            let names = (0..<count).map { "Node \($0)" }
            return try await startNodes(names, on: names.indices.map { hosts[$0 % hosts.count] })
        }

        // R27
        @Test(
            "a chat opened and closed 1,000 times leaves no memory, descriptors or threads behind, here or there",
            .long)
        func openedAndClosed() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
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
            for round in 0..<1_000 {
                let mark = alice.mark
                alice.tell(["do": "join", "chat": sideRoom])
                // Some rounds are long enough for a link, and for typing on the link.
                if round.isMultiple(of: 20) {
                    try await alice.wait("Bob in the side room", from: mark, within: 10) {
                        $0.isPresence("online", of: bob.name) && $0.chat == sideRoom
                    }
                    bob.tell(["do": "compose", "text": "\(round)", "chat": sideRoom])
                    try await alice.wait("Bob typing there", from: mark) {
                        $0.chat == sideRoom && $0.typists == [bob.name]
                    }
                    bob.tell(["do": "compose", "text": "", "chat": sideRoom])
                }
                alice.tell(["do": "leave", "chat": sideRoom])
                guard round % 10 == 9 else { continue }
                // The pause lets the node process each command before the next ones.
                alice.tell(["do": "who"])
                try await alice.wait("what it was asked for", from: mark, within: 20) { $0.on == "who" }
                try await pause(0.05)
                try growth.sample(processes)
            }
            figure("1,000 times opened and closed in \(seconds(now() - start)): \(growth.text)")
            // The nodes may still close sockets and end threads.
            try await pause(2)
            for _ in 0..<30 { try growth.sample(processes) }
            figure("and 2 s later: \(growth.text)")
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

        // R2, R25, R26, R27, R28
        @Test("dense traffic among 20 nodes, with one datagram in ten lost: nothing grows", .long)
        func traffic() async throws {
            let minutes = ProcessInfo.processInfo.environment["INKLING_ENDURANCE_MINUTES"].flatMap { Double($0) }
            try await Network.with(hosts: 5) { network in
                let nodes = try await EnduranceTests.startCrowd(20, on: network.hosts)
                try await waitUntilAllOnline(nodes, within: 20)
                for host in network.hosts { try await host.dropOneInTen() }
                let processes = try nodes.flatMap { try $0.processes() }
                let marks = nodes.map(\.mark)
                let length = (minutes ?? 0.5) * 60
                async let typing = NodeProcess.typeAway(nodes, seconds: length)
                var growth = Growth()
                let end = now() + length
                while now() < end {
                    try await pause(length / 80)
                    try growth.sample(processes)
                }
                let texts = try await typing
                try await pause(3)
                let messages = texts.joined().count { $0 != nil }
                figure("20 nodes, \(Int(length)) s: \(texts.joined().count) texts, \(messages) of them sent")
                figure("20 nodes: \(growth.text)")
                figure("20 nodes: threads where they grew most: \(growth.threadNames)")
                EnduranceTests.expectNone(growth)
                for (reader, mark) in zip(nodes, marks) {
                    for (author, own) in zip(nodes, texts) where author !== reader {
                        let received = reader.messages(from: author, after: mark).map(\.text)
                        #expect(received == own.compactMap(\.self), "of \(author.name) at \(reader.name)")
                    }
                    #expect(reader.offlineEvents(from: mark).isEmpty)
                }
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
    /// Returns the process IDs of the program, its helper and its front end, in the test's process namespace.
    fileprivate func processes() throws -> [pid_t] {
        guard let program else { throw HarnessError("\(name) has ended") }
        return [program, try helper()] + (frontEnd.map { [$0] } ?? [])
    }
}
