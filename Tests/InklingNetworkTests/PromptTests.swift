import Foundation
import Testing

extension NetworkTests {
    /// The whole program at a terminal.
    @Suite("Prompt", .serialized, .sideBySide) struct PromptTests {
        private static let prompt = "kitchen (open, Bob: Active now)> "
        private static let emptyPrompt = prompt.withoutBlankEnd

        // R1, R5, R17
        @Test(
            """
            a draft outlives another width of the window, messages, Ctrl-Z, bg and fg; a paste of some lines is one \
            message; a program that is stopped can be ended, and leaves the terminal alone
            """)
        func draft() async throws {
            try await Network.with(hosts: 2) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await terminal.wait("Bob") { $0.has("* Bob is here") && $0.last == PromptTests.emptyPrompt }
                bob.compose("h")
                try await terminal.wait("typing") { $0.dropLast().last?.hasPrefix("Bob is typing.") == true }
                bob.send("hello")
                try await terminal.wait("the message") { $0.has("Bob: hello") && !$0.shows("typing") }
                let text = "a family 👨‍👩‍👧 and 日本語, é and שלום"
                try await terminal.type(text)
                try await bob.wait("typing") { $0.typists == ["Alice"] }
                let blocks = [
                    40: ["kitchen (open, Active now)> a family 👨‍👩‍👧", "and 日本語, é and שלום"],
                    200: [PromptTests.prompt + text], 80: [PromptTests.prompt + text],
                ]
                for (columns, block) in [40, 200, 80].map({ ($0, blocks[$0] ?? []) }) {
                    try await terminal.resize(columns: columns)
                    bob.send("at \(columns) columns")
                    let screen = try await terminal.wait("draft at \(columns) columns") {
                        $0.has("Bob: at \(columns) columns") && Array($0.suffix(block.count)) == block
                    }
                    #expect(screen.count { $0.contains("(open") } == 1, "\(screen)")
                }
                for isInBackground in [false, true] {
                    let mark = bob.mark
                    try await PromptTests.stop(terminal, seenBy: bob)
                    if isInBackground {
                        try await terminal.enter("bg")
                        // The shell may report the stop at any time, so the test can't wait for a certain text.
                        try await pause(1)
                    } else {
                        try await terminal.enter("echo still a shell")
                        try await terminal.wait("the shell's answer") { $0.contains("still a shell") }
                    }
                    try await terminal.enter("fg")
                    try await bob.wait("Alice again", from: mark) { $0.isPresence("online", of: "Alice") }
                    try await terminal.wait("the draft") { $0.last == PromptTests.prompt + text }
                }
                try await terminal.press("C-u")
                try await terminal.paste("one\ntwo\nthree")
                try await terminal.press("Enter")
                try await bob.wait("the paste") { $0.on == "message" && $0.text == "one\ntwo\nthree" }
                try await terminal.wait("the paste, indented") { $0.shows("You: one") && $0.contains("        two") }
                #expect(!(try await terminal.everything()).shows("typing"), "the indicator leaves nothing behind")

                try await PromptTests.stop(terminal, seenBy: bob)
                // Other shells continue a stopped job by themselves when they kill it.
                try await terminal.enter("kill %1; kill -CONT %1")
                // A zombie has no command line.
                let running = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cx kitche[n] || true"
                let deadline = now() + 5
                while try await network[0].run(running) != "0" {
                    if now() > deadline { throw HarnessError("it still runs") }
                    try await pause(0.05)
                }
                try await terminal.enter("echo the same shell")
                let screen = try await terminal.wait("the shell's answer") { $0.contains("the same shell") }
                #expect(screen.count { $0.contains("(open") } == 0, "\(screen)")
            }
        }

        /// Stops Alice's program by Ctrl-Z.
        private static func stop(_ terminal: RealTerminal, seenBy bob: NodeProcess) async throws {
            let mark = bob.mark
            try await terminal.press("C-z")
            try await bob.wait("a goodbye", from: mark) { $0.isPresence("offline", of: "Alice") && $0.why == "bye" }
            try await terminal.wait("the shell") { $0.last == "$" }
        }

        @Test(
            """
            whoever ends the input instead of giving a name joins nothing, as with Ctrl-C; a name is reported as saved \
            only if the disk has it; a hint names the file of the invite
            """)
        func names() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let terminal = try await RealTerminal(on: network[0], columns: 160)
                let (program, path) = (try NodeProcess.program(), "/run/home/.config/inkling/config.toml")
                func begin() async throws {
                    try await terminal.enter("clear; \(program) chat --no-discovery; echo status $?")
                    try await terminal.wait("the question") { $0.shows("Your name, as others will see it") }
                }
                for key in ["C-d", "C-c"] {
                    try await begin()
                    try await terminal.press(key)
                    // After an interrupt, the shell forgets the rest of the line.
                    if key == "C-c" { try await terminal.enter("echo status $?") }
                    try await terminal.wait("the end") { $0.has("status 130") }
                }
                try await network[0].run("test ! -e /run/home/.config/inkling")
                try await network[0].run("test ! -e /run/home/.local/state/inkling")

                for (mode, report) in [
                    ("a-w", "/run/home/.local/state/inkling can't be written (Permission denied)."),
                    ("u+w", "Saved in \(path)"),
                ] {
                    try await network[0].run("chmod \(mode) /run/home $(find /run/home -type d)")
                    try await begin()
                    try await terminal.enter("Zoe")
                    try await terminal.wait("the report") { $0.has(report) }
                    if mode == "u+w" {
                        for (line, kept) in [("/nick --once Alicia", "Zoe"), ("/nick Carol", "Carol")] {
                            try await terminal.enter(line)
                            let last = line.split(separator: " ").last ?? ""
                            try await terminal.wait("the name") { $0.has("Others see you as \(last) from now on") }
                            if kept == "Carol" {
                                try await terminal.wait("the notice") { $0.count { $0.contains("Saved in") } == 2 }
                            }
                            try await network[0].run("grep -Fqx 'name = \"\(kept)\"' \(path)")
                        }
                    }
                    try await terminal.enter("/quit")
                    try await terminal.wait("the end") { $0.has("status 0") }
                }

                try await network[0].run("echo 'inkling:x%3B%20y#abcdefghijklmnopqrstuvwxya' >/run/invite")
                try await terminal.enter("clear; \(program) chat --no-discovery --invite-file /run/invite")
                try await terminal.wait("prompt") { $0.last == "x; y>" }
                try await terminal.enter("/who")
                try await terminal.wait("the answer") { screen in
                    screen.contains { $0.hasSuffix("If somebody should be: inkling doctor --invite-file /run/invite") }
                }
                try await terminal.press("C-d")
                try await terminal.wait("the shell") { $0.last == "$" }
            }
        }
    }
}

extension [String] {
    fileprivate func shows(_ text: String) -> Bool { contains { $0.contains(text) } }
}
