import Foundation
import Testing

/// The path of the last release's program, which `Scripts/package release` builds.
private let olderProgram = ProcessInfo.processInfo.environment["INKLING_OLD_PROGRAM"]

extension NetworkTests {
    @Suite(
        "Beside the last release", .serialized, .sideBySide,
        .enabled(if: olderProgram != nil, "left out: INKLING_OLD_PROGRAM names no program"))
    struct OlderProgramTests {
        @Test("a program of version 1 of the protocol and a present one don't show each other, in an open chat")
        func strangers() async throws {
            try await Network.with(hosts: 2) { network in
                let older = try await NodeProcess("Older", on: network[0], program: olderProgram)
                let present = try await NodeProcess("Present", on: network[1], program: try NodeProcess.program())
                #expect(older.events.first?.version != present.events.first?.version)
                older.compose("half a sent")
                try await pause(5)
                for node in [older, present] {
                    #expect(node.shown(from: 0).isEmpty)
                    #expect(node.ending == nil)
                }
            }
        }

        @Test("the present program takes over identity, people and their verification, and the invite of the older one")
        func takingOver() async throws {
            let older = try #require(olderProgram)
            try await Network.with(hosts: 2) { network in
                let invite = try await network[0].runAsUser("\(older) invite kitchen 2>/dev/null")
                    .trimmingCharacters(in: .whitespacesAndNewlines)
                var users: [[String?]] = []
                for program in [older, try NodeProcess.program()] {
                    let alice = try await NodeProcess("Alice", on: network[0], chat: invite, program: program)
                    let bob = try await NodeProcess("Bob", on: network[1], chat: invite, program: program)
                    let shown = try await alice.waitForPresence("online", of: bob)
                    try await bob.waitForPresence("online", of: alice)
                    #expect(shown.verified == !users.isEmpty)
                    alice.tell(["do": "verify", "key": try #require(shown.key), "id": "verify"])
                    try await alice.wait("the answer") { $0.on == "ok" }
                    users.append([alice, bob].map { $0.events.first?.user })
                    for node in [alice, bob] {
                        let codes = node.events.compactMap(\.code)
                        for fault in ["known-peers", "state-", "identity", "key-changed"] {
                            #expect(!codes.contains { $0.hasPrefix(fault) }, "\(codes)")
                        }
                        node.quit()
                        #expect(try await node.waitForEnd() == .exited(0))
                    }
                }
                #expect(users[0] == users[1] && !users[0].contains(nil), "other people: \(users)")
            }
        }
    }
}
