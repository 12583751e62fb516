import Testing

extension NetworkTests {
    @Suite("Outsiders", .serialized, .sideBySide) struct OutsiderTests {
        private static let secret = "abcdefghijklmnopqrstuvwxya"
        private static let otherSecret = "zyxwvutsrqponmlkjihgfedcba"

        // R8, R12
        @Test("a node of another chat, and one with another secret for the same name, see nothing and show nowhere")
        func otherChats() async throws {
            try await Network.with(hosts: 4) { network in
                let inside = ["--secret", OutsiderTests.secret]
                let members = try await startNodes(["Alice", "Bob"], on: network.hosts, chat: "garden", inside)
                let outsiders = [
                    try await NodeProcess(
                        "Mallory", on: network[2], chat: "garden", ["--secret", OutsiderTests.otherSecret]),
                    try await NodeProcess("Oscar", on: network[3], chat: "kitchen"),
                    try await NodeProcess("Peggy", on: network[3], chat: "garden"),
                ]
                try await waitUntilAllOnline(members)
                let mark = members[1].mark
                members[0].compose("between us")
                outsiders.forEach { $0.compose("let me in") }
                try await members[1].waitForTyping(of: members[0], from: mark)
                members[0].send("between us")
                outsiders.forEach { $0.send("let me in") }
                try await members[1].wait("the message", from: mark) { $0.on == "message" }
                try await pause(3)
                for outsider in outsiders {
                    #expect(outsider.shown(from: 0).isEmpty, "\(outsider.name) sees \(outsider.shown(from: 0))")
                    #expect(outsider.ending == nil)
                }
                for member in members {
                    let names = member.events.flatMap { [$0.name, $0.from?.name] + ($0.typists ?? []) }
                    #expect(Set(names.compactMap(\.self)).isSubset(of: ["Alice", "Bob"]))
                }
            }
        }
    }
}
