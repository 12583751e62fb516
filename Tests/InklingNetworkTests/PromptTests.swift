import Foundation
import Testing

extension NetworkTests {
    /// The whole program at a terminal.
    @Suite("Prompt", .serialized, .sideBySide) struct PromptTests {
        private static let prompt = "kitchen (open, Bob: Active now)> "
        private static let emptyPrompt = prompt.withoutBlankEnd

        // R1, R5, R17
        @Test("start, discovery, typing, messages, a second typist, leave: as somebody sees it")
        func session() async throws {
            try await Network.with(hosts: 3) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                try await terminal.wait("prompt") { $0.last == "kitchen (open)>" }
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await terminal.wait("Bob") { $0.has("* Bob is here") && $0.last?.hasSuffix("Active now)>") == true }
                bob.compose("h")
                try await terminal.wait("typing") { $0.row(-2).hasPrefix("Bob is typing.") }
                bob.send("hello")
                try await terminal.wait("the message") { $0.has("Bob: hello") && !$0.shows("typing") }
                try await terminal.type("Hi Bob!")
                try await bob.wait("typing") { $0.typists == ["Alice"] }
                try await terminal.press("Enter")
                try await bob.wait("the message") { $0.on == "message" && $0.text == "Hi Bob!" }
                try await terminal.wait("delivery") { $0.has("You: Hi Bob!  (delivered)") }

                let charlie = try await NodeProcess("Charlie", on: network[2], chat: "kitchen")
                try await terminal.wait("Charlie") { $0.has("* Charlie is here") && $0.last == "kitchen (open)>" }
                try await charlie.waitForPresence("online", of: bob)
                try await terminal.type("mine stays")
                bob.compose("a")
                charlie.compose("b")
                let both = ["Bob and Charlie are typing.", "Charlie and Bob are typing."]
                try await terminal.wait("two typists") { screen in
                    both.contains { screen.row(-2).hasPrefix($0) } && screen.last == "kitchen (open)> mine stays"
                }
                charlie.quit()
                try await terminal.wait("the rest") {
                    $0.has("* Charlie has left") && $0.row(-2).hasPrefix("Bob is typing.")
                }
                bob.compose("")
                try await terminal.wait("nobody typing") {
                    !$0.shows("typing") && $0.last?.hasSuffix("Active now)> mine stays") == true
                }
                try await terminal.press("C-u")
                try await terminal.press("C-d")
                let bye = try await bob.wait("a goodbye") { $0.isPresence("offline", of: "Alice") }
                #expect(bye.why == "bye")
                let screen = try await terminal.wait("the shell") { $0.last == "$" }
                #expect(!screen.shows("(open)>"), "the prompt goes with the program: \(screen)")
                #expect(!(try await terminal.everything()).shows("typing"), "the indicator leaves nothing behind")
            }
        }

        // R17
        @Test("1,000 messages of one, folded, and those of two others come while a line is edited: it survives all")
        func underFire() async throws {
            try await Network.with(hosts: 4) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                let names = ["Bob", "Charlie", "Dora"]
                let others = try await startNodes(names, on: [network[1], network[2], network[3]], chat: "kitchen")
                let bob = others[0]
                for other in others { try await other.wait("Alice") { $0.isPresence("online", of: "Alice") } }
                try await waitUntilAllOnline(others)
                try await terminal.wait("prompt") { $0.has("Dora") && $0.last == "kitchen (open)>" }

                let count = 1_000
                let firing = Task {
                    for number in 1...count {
                        bob.send("message \(number)")
                        try await pause(0.01)
                    }
                }
                // These messages come too slowly to be folded.
                let talking = Task {
                    var said = 0
                    while !Task.isCancelled {
                        said += 1
                        for other in others.dropFirst() { other.send("hello \(said)") }
                        try? await pause(0.6)
                    }
                    return said
                }
                defer {
                    firing.cancel()
                    talking.cancel()
                }
                var line = PromptTests.Draft()
                var steps = 0
                while bob.count(of: "delivered") < others.count * count {
                    let keys = line.step(steps)
                    steps += 1
                    if keys.isText { try await terminal.type(keys.text) } else { try await terminal.press(keys.text) }
                    let expected = ("kitchen (open)> " + line.text).withoutBlankEnd
                    let screen = try await terminal.wait("\(expected) after \(keys.text)") { $0.last == expected }
                    #expect(screen.count { $0.contains("(open") } == 1)
                }
                try await firing.value
                talking.cancel()
                let said = await talking.value
                // After the last edit, the cursor may be at the beginning.
                try await terminal.press("C-e")
                try await terminal.type("the end")
                try await terminal.press("Enter")
                let sent = try await bob.wait("the line") { $0.on == "message" && $0.from?.name == "Alice" }
                #expect(sent.text == line.text + "the end")
                try await terminal.wait("delivery") { $0.has("You: \(line.text)the end  (to all 3)") }
                // The last report is due 5 s after the one before.
                let deadline = now() + 10
                var (everything, shown, folded) = ([String](), [Int](), 0)
                repeat {
                    everything = try await terminal.everything()
                    shown = everything.compactMap {
                        $0.firstMatch(of: /^[0-9:]{5} Bob: message ([0-9]+)$/).flatMap { Int($0.1) }
                    }
                    let reports = everything.compactMap {
                        $0.firstMatch(of: /^[0-9:]{5} \* ([0-9]+) more messages? from Bob: \/show Bob$/)
                            .flatMap { Int($0.1) }
                    }
                    #expect(reports.count <= 10, "\(reports)")
                    folded = reports.reduce(0, +)
                } while shown.count + folded < count && now() < deadline
                #expect(shown == Array(1...10) && folded == count - 10, "\(shown.count) shown, \(folded) folded")
                for name in ["Charlie", "Dora"] {
                    let heard = everything.count { $0.contains(" \(name): hello ") }
                    #expect(heard == said, "\(name) said \(said), of which \(heard) show")
                }
                #expect(everything.count { $0.contains("(open") } == 1, "nothing of the prompt stays behind")
                #expect(steps >= 100, "\(steps) edits were too few to tell anything")
                figure("edits at the prompt while 1,000 messages came: \(steps)")
            }
        }

        @Test(
            "whoever ends the input instead of giving a name joins nothing, as with Ctrl-C",
            .standalone("a front end asks for no name"))
        func noName() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let terminal = try await RealTerminal(on: network[0])
                for key in ["C-d", "C-c"] {
                    try await terminal.type("clear; \(try NodeProcess.program()) chat --no-discovery; echo status $?")
                    try await terminal.press("Enter")
                    try await terminal.wait("the question") { $0.shows("Your name, as others will see it") }
                    try await terminal.press(key)
                    // After an interrupt, the shell forgets the rest of the line.
                    if key == "C-c" {
                        try await terminal.type("echo status $?")
                        try await terminal.press("Enter")
                    }
                    try await terminal.wait("the end") { $0.has("status 130") }
                }
                try await network[0].run("test ! -e /run/home/.config/inkling")
                try await network[0].run("test ! -e /run/home/.local/state/inkling")
            }
        }

        @Test(
            "a first name is reported as saved only if the disk has it",
            .standalone("a front end asks for no name"))
        func unsavedName() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let terminal = try await RealTerminal(on: network[0], columns: 160)
                for (mode, report) in [
                    ("a-w", "/run/home/.local/state/inkling can't be written (Permission denied)."),
                    ("u+w", "Saved in /run/home/.config/inkling/config.toml"),
                ] {
                    try await network[0].run("chmod \(mode) /run/home $(find /run/home -type d)")
                    try await terminal.type("clear; \(try NodeProcess.program()) chat --no-discovery; echo status $?")
                    try await terminal.press("Enter")
                    try await terminal.wait("the question") { $0.shows("Your name, as others will see it") }
                    try await terminal.type("Zoe")
                    try await terminal.press("Enter")
                    try await terminal.wait("the report") { $0.has(report) }
                    try await terminal.type("/quit")
                    try await terminal.press("Enter")
                    try await terminal.wait("the end") { $0.has("status 0") }
                }
            }
        }

        @Test(
            "a new name is written where the settings have another, and one for once is not",
            .standalone("its chat has a node of its own"))
        func settledName() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let terminal = try await RealTerminal(on: network[0], columns: 120)
                let path = "/run/home/.config/inkling/config.toml"
                try await network[0].runAsUser("mkdir -p $(dirname \(path)) && printf 'name = \"Alice\"\\n' >\(path)")
                try await terminal.type("\(try NodeProcess.program()) chat --no-discovery")
                try await terminal.press("Enter")
                try await terminal.wait("prompt") { $0.last == "lobby (open)>" }
                for (line, name) in [("/nick --once Alicia", "Alice"), ("/nick Zoe", "Zoe")] {
                    try await terminal.type(line)
                    try await terminal.press("Enter")
                    let last = line.split(separator: " ").last ?? ""
                    try await terminal.wait("the name") { $0.has("Others see you as \(last) from now on") }
                    if name == "Zoe" { try await terminal.wait("the notice") { $0.has("Saved in \(path)") } }
                    try await network[0].run("grep -Fqx 'name = \"\(name)\"' \(path)")
                }
            }
        }

        @Test("a draft outlives another width of the window, Ctrl-Z and fg; a paste of some lines is one message")
        func draft() async throws {
            try await Network.with(hosts: 2) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await terminal.wait("Bob") { $0.last == PromptTests.emptyPrompt }
                let text = "a family 👨‍👩‍👧 and 日本語, é and שלום"
                try await terminal.type(text)
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
                try await terminal.press("C-z")
                try await bob.wait("a goodbye") { $0.isPresence("offline", of: "Alice") && $0.why == "bye" }
                try await terminal.wait("the shell") { $0.last == "$" }
                let mark = bob.mark
                try await terminal.type("echo still a shell")
                try await terminal.press("Enter")
                try await terminal.wait("the shell's answer") { $0.contains("still a shell") }
                try await terminal.type("fg")
                try await terminal.press("Enter")
                try await bob.wait("Alice again", from: mark) { $0.isPresence("online", of: "Alice") }
                try await terminal.wait("the draft") { $0.last == PromptTests.prompt + text }
                try await terminal.press("C-u")
                try await terminal.paste("one\ntwo\nthree")
                try await terminal.press("Enter")
                try await bob.wait("the paste") { $0.on == "message" && $0.text == "one\ntwo\nthree" }
                try await terminal.wait("the paste, indented") { $0.shows("You: one") && $0.contains("        two") }
            }
        }

        // R26
        @Test("what is sent right before the end arrives although datagrams get lost, or is told to be in doubt")
        func lastWords() async throws {
            try await Network.with(hosts: 2) { network in
                let terminal = try await RealTerminal(on: network[0])
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                for (text, outage) in [("last words", 0.6), ("lost words", 4)] {
                    let mark = bob.mark
                    try await terminal.chat("kitchen", as: "Alice")
                    try await bob.wait("Alice", from: mark) { $0.isPresence("online", of: "Alice") }
                    try await terminal.wait("Bob") { $0.last == PromptTests.emptyPrompt }
                    try await terminal.type("hello")
                    try await terminal.press("Enter")
                    try await bob.wait("hello", from: mark) { $0.on == "message" && $0.text == "hello" }
                    try await network[1].dropUDP()
                    try await terminal.type(text)
                    try await terminal.press("Enter", "C-d")
                    try await pause(outage)
                    try await network[1].passUDP()
                    try await bob.wait("the end", from: mark) { $0.isPresence("offline", of: "Alice") }
                    try await terminal.wait("the shell") { $0.last == "$" }
                }
                let texts = bob.events.filter { $0.on == "message" }.map(\.text)
                #expect(texts == ["hello", "last words", "hello"])
                let told = try await terminal.everything().filter { $0.contains("Delivery is unknown: ") }
                #expect(told.count == 1 && told[0].hasSuffix("* Delivery is unknown: lost words"), "\(told)")
            }
        }

        @Test("hints name the chat that is open, as a shell has to be told, and no secret")
        func hints() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                try await network[0].run("echo 'inkling:x%3B%20y#abcdefghijklmnopqrstuvwxya' >/run/invite")
                let terminal = try await RealTerminal(on: network[0], columns: 200)
                for (chat, prompt, doctor) in [
                    ("'a; b'", "a; b (open)>", "inkling doctor 'a; b'"),
                    ("--invite-file /run/invite", "x; y>", "inkling doctor --invite-file /run/invite"),
                ] {
                    try await terminal.chat(chat, as: "Alice", "--no-discovery")
                    try await terminal.wait("prompt") { $0.last == prompt }
                    try await terminal.type("/who")
                    try await terminal.press("Enter")
                    try await terminal.wait("the answer") { screen in
                        screen.contains { $0.hasSuffix("If somebody should be: " + doctor) }
                    }
                    try await terminal.wait("the hint", within: 6) { screen in
                        screen.contains { $0.hasSuffix("but don't appear: " + doctor) }
                    }
                    try await terminal.type("/join other")
                    try await terminal.press("Enter")
                    try await terminal.wait("another prompt") { $0.last == "other (open)>" }
                    try await terminal.type("/who")
                    try await terminal.press("Enter")
                    try await terminal.wait("another answer") { screen in
                        screen.contains { $0.hasSuffix("If somebody should be: inkling doctor other") }
                    }
                    try await terminal.press("C-d")
                    try await terminal.wait("the shell") { $0.last == "$" }
                }
                let rows = try await terminal.everything()
                #expect(rows.contains { $0.hasSuffix("join with inkling chat 'a; b'.") }, "\(rows)")
            }
        }

        @Test("a program that is stopped can be ended, and leaves the terminal alone")
        func endedWhileStopped() async throws {
            try await Network.with(hosts: 2) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await terminal.wait("Bob") { $0.last == PromptTests.emptyPrompt }
                try await terminal.press("C-z")
                try await bob.wait("a goodbye") { $0.isPresence("offline", of: "Alice") }
                try await terminal.wait("the shell") { $0.last == "$" }
                // Other shells continue a stopped job by themselves when they kill it.
                try await terminal.type("kill %1; kill -CONT %1")
                try await terminal.press("Enter")
                // A zombie has no command line.
                let running = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cx kitche[n] || true"
                let deadline = now() + 5
                while try await network[0].run(running) != "0" {
                    if now() > deadline { throw HarnessError("it still runs") }
                    try await pause(0.05)
                }
                try await terminal.type("echo still a shell")
                try await terminal.press("Enter")
                let screen = try await terminal.wait("the shell's answer") { $0.contains("still a shell") }
                #expect(screen.count { $0.contains("(open") } == 0, "\(screen)")
            }
        }

        @Test("continued in the background and then in front, the program goes on, with its draft")
        func background() async throws {
            try await Network.with(hosts: 2) { network in
                let terminal = try await RealTerminal(on: network[0])
                try await terminal.chat("kitchen", as: "Alice")
                let bob = try await NodeProcess("Bob", on: network[1], chat: "kitchen")
                try await terminal.wait("Bob") { $0.last == PromptTests.emptyPrompt }
                try await terminal.type("draft")
                try await terminal.wait("the draft") { $0.last == PromptTests.prompt + "draft" }
                let mark = bob.mark
                try await terminal.press("C-z")
                try await bob.wait("a goodbye", from: mark) { $0.isPresence("offline", of: "Alice") }
                try await terminal.wait("the shell") { $0.last == "$" }
                try await terminal.type("bg")
                try await terminal.press("Enter")
                // The shell may report the stop at any time, so the test can't wait for a certain text.
                try await pause(1)
                try await terminal.type("fg")
                try await terminal.press("Enter")
                try await bob.wait("Alice again", from: mark) { $0.isPresence("online", of: "Alice") }
                try await terminal.wait("the draft again") { $0.last == PromptTests.prompt + "draft" }
                try await terminal.type(" goes on")
                try await terminal.press("Enter")
                try await bob.wait("the message") { $0.on == "message" && $0.text == "draft goes on" }
            }
        }
    }
}

extension NetworkTests.PromptTests {
    /// The draft that should result from the user's keys.
    private struct Draft {
        private(set) var text = ""
        private var killed = ""

        /// Returns the keys of one step, and applies them to the draft.
        mutating func step(_ number: Int) -> (text: String, isText: Bool) {
            switch number % 8 {
            case 0, 1:
                text += "word\(number) "
                return ("word\(number) ", true)
            case 2:
                text.removeLast()
                return ("BSpace", false)
            case 3: return ("C-a", false)
            case 4:
                text = "<" + text
                return ("<", true)
            case 5: return ("C-e", false)
            case 6:
                let rest = String(text.reversed().drop { $0 != " " }.reversed())
                killed = String(text.dropFirst(rest.count))
                text = rest
                return ("C-w", false)
            default:
                guard number % 24 == 7 else {
                    text = ""
                    return ("C-u", false)
                }
                text += killed
                return ("C-y", false)
            }
        }
    }
}

extension [String] {
    /// Returns a row, with negative indices counted from the end.
    fileprivate func row(_ index: Int) -> String { count + index >= 0 ? self[count + index] : "" }

    fileprivate func shows(_ text: String) -> Bool { contains { $0.contains(text) } }
}
