import Foundation
import Glibc
import Testing

/// The program of the last release, which `Scripts/build-release` builds.
private let olderProgram = ProcessInfo.processInfo.environment["INKLING_OLD_PROGRAM"]

extension NetworkTests {
    @Suite(
        "Beside the last release", .serialized, .sideBySide,
        .enabled(if: olderProgram != nil, "left out: INKLING_OLD_PROGRAM names no program"))
    struct OlderProgramTests {
        enum Kind: String, CaseIterable { case open, secret }

        /// Where the older program and the present one are.
        private static func programs() throws -> (older: String, present: String) {
            (try #require(olderProgram), try NodeProcess.program())
        }

        /// Types, empties the line, types again and sends: shown by the other one as it happens.
        private static func talk(_ author: NodeProcess, _ reader: NodeProcess, _ text: String) async throws {
            let (mark, before) = (reader.mark, author.mark)
            let typed = author.compose("half a sent")
            let shown = try await reader.waitForTyping(of: author, from: mark)
            let between = reader.mark
            author.compose("")
            try await reader.waitForTyping(of: author, false, from: between)
            author.compose(String(text.prefix(3)))
            let again = try await reader.waitForTyping(of: author, from: reader.mark - 1)
            let sent = author.send(text)
            let message = try await reader.wait("a message", from: mark) { $0.on == "message" }
            #expect(message.text == text && message.from?.name == author.name)
            let ended = try await reader.waitForTyping(of: author, false, from: between + 1)
            #expect(again.at <= ended.at && ended.at <= message.at, "typing ends before the message shows")
            try await author.wait("delivery", from: before) { $0.on == "delivered" }
            figure(
                "\(author.name) to \(reader.name): typing \(seconds(shown.at - typed)), message \(seconds(message.at - sent))"
            )
        }

        // R39
        @Test("they find each other, see each other type and talk, in either direction", arguments: Kind.allCases)
        func conversation(in kind: Kind) async throws {
            let programs = try Self.programs()
            try await Network.with(hosts: 2) { network in
                var chat = "kitchen"
                if kind == .secret {
                    // Whichever made the invite, both take it.
                    chat = try await network[0].run(
                        "\(programs.older) invite kitchen 2>/dev/null"
                    )
                    .trimmingCharacters(in: .whitespacesAndNewlines)
                }
                let older = try await NodeProcess("Older", on: network[0], chat: chat, program: programs.older)
                let present = try await NodeProcess("Present", on: network[1], chat: chat)
                let versions = [older, present].map { $0.events.first?.version ?? "none" }
                #expect(versions[0] != versions[1], "both say that they are version \(versions[0])")
                try await waitUntilAllOnline([older, present])
                try await Self.talk(older, present, "tea is ready")
                try await Self.talk(present, older, "on my way")
                try await Self.talk(older, present, String(repeating: "a long one. ", count: 5_000))
                try await Self.talk(present, older, String(repeating: "längere Antwort ", count: 3_000))
                let mark = present.mark
                older.quit()
                let gone = try await present.waitForPresence("offline", of: older, from: mark)
                #expect(gone.why == "bye")
                #expect(try await older.waitForEnd() == .exited(0))
            }
        }

        @Test("either is killed, is gone for the other at once, and is back after a restart", arguments: [true, false])
        func restart(ofOlder: Bool) async throws {
            let programs = try Self.programs()
            try await Network.with(hosts: 2) { network in
                let paths = ofOlder ? [programs.older, programs.present] : [programs.present, programs.older]
                let first = try await NodeProcess("Restarted", on: network[0], program: paths[0])
                let other = try await NodeProcess("Stays", on: network[1], program: paths[1])
                try await waitUntilAllOnline([first, other])
                first.compose("half a sent")
                try await other.waitForTyping(of: first, from: 0)
                let mark = other.mark
                let killed = try first.signal(SIGKILL)
                let gone = try await other.waitForPresence("offline", of: first, from: mark)
                try await other.waitForTyping(of: first, false, from: mark)
                figure("killed: offline after \(seconds(gone.at - killed))")
                #expect(gone.why == "will", "its helper said goodbye for it")
                let again = try await NodeProcess("Restarted", on: network[0], program: paths[0])
                #expect(again.events.first?.user == first.events.first?.user)
                try await other.waitForPresence("online", of: again, from: mark)
                try await again.waitForPresence("online", of: other)
                try await Self.talk(again, other, "here again")
                try await Self.talk(other, again, "welcome back")
            }
        }

        @Test("the present program takes over the state of the older one, which still runs with it afterwards")
        func takingOver() async throws {
            let programs = try Self.programs()
            try await Network.with(hosts: 2) { network in
                let bob = try await NodeProcess("Bob", on: network[1])
                var users: [String?] = []
                for program in [programs.older, programs.present, programs.older, programs.present] {
                    let mark = bob.mark
                    let alice = try await NodeProcess("Alice", on: network[0], program: program)
                    try await waitUntilAllOnline([alice])
                    try await bob.waitForPresence("online", of: alice, from: mark)
                    try await alice.waitForPresence("online", of: bob)
                    try await Self.talk(alice, bob, "from \(users.count)")
                    users.append(alice.events.first?.user)
                    let notices = alice.events.filter { $0.on == "notice" }.compactMap(\.code)
                    let expected = users.count == 3 ? ["known-peers-newer"] : []
                    #expect(notices.filter { $0.hasPrefix("known-peers") || $0.hasPrefix("identity") } == expected)
                    alice.quit()
                    #expect(try await alice.waitForEnd() == .exited(0))
                    try await bob.waitForPresence("offline", of: alice, from: mark)
                }
                #expect(Set(users).count == 1 && users[0] != nil, "one and the same person: \(users)")
                #expect(bob.events.allSatisfy { $0.code != "key-changed" }, "nobody warns of another key")
            }
        }
    }
}
