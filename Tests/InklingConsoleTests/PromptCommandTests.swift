import InklingConsole
import Testing

@Suite("Commands of the prompt")
struct PromptCommandTests {
    @Test(
        "R5: a line that begins with a slash is a command, one with two is a message",
        arguments: [
            ("/who", .who), ("/QUIT", .quit), ("/q", .quit), ("/exit", .quit), ("/?", .help(nil)), ("/who  ", .who),
            ("//who", .message("/who")), ("//text", .message("/text")), ("who", .message("who")),
            (" /who", .message(" /who")),
            ("/help", .help(nil)), ("/help me", .help("me")), ("/help /verify", .help("/verify")),
            ("/whois Bob", .whois("Bob")), ("/whois  Anna  Maria ", .whois("Anna  Maria")),
            ("/whois\tBob", .whois("Bob")),
            ("/verify Bob", .verify("Bob", isRight: false)),
            ("/verify Anna Maria ok", .verify("Anna Maria", isRight: true)),
            ("/verify Bob OK", .verify("Bob", isRight: true)), ("/verify ok", .verify("ok", isRight: false)),
            ("/join kitchen", .join("kitchen")), ("/join inkling:a#b", .join("inkling:a#b")),
            ("/join my kitchen", .join("my kitchen")),
            // As a terminal of other columns broke it.
            ("/join inkling:a#b\n  c@d \n  e", .join("inkling:a#bc@de")),
            ("/leave", .leave(nil)), ("/leave kitchen", .leave("kitchen")), ("/open 2", .open(.number(2))),
            ("/open 0", .open(.name("0"))),
            ("/open kitchen", .open(.name("kitchen"))), ("/open -1", .open(.name("-1"))), ("/chats", .chats),
            ("/invite", .invite(nil)), ("/invite my team", .invite("my team")), ("/notify on", .notify(true)),
            ("/history", .history(nil)), ("/history ON", .history(true)), ("/history off", .history(false)),
            ("/history off  ok", .history(false, isSure: true)), ("/history on ok", .misused("history", .surplus)),
            ("/waiting", .waiting(nil)), ("/waiting on", .waiting(true)), ("/waiting OFF", .waiting(false)),
            ("/waiting 1", .misused("waiting", .surplus)), ("/forget 2", .forget(2)), ("/forget ALL", .forget(nil)),
            ("/forget", .misused("forget", .missing)), ("/forget 0", .misused("forget", .surplus)),
            ("/notify OFF", .notify(false)), ("/notify", .notify(nil)), ("/notify icon  On", .autostart(true)),
            ("/notify icon off", .autostart(false)),
            ("/notify icon", .misused("notify", .surplus)), ("/notify maybe", .misused("notify", .surplus)),
            ("/resend", .resend), ("/resend it", .misused("resend", .surplus)),
            ("/nick --once Zoe B", .nick("Zoe B", isOnce: true)), ("/nick --once", .misused("nick", .missing)),
            (":smile:", .message(":smile:")),
            ("/away", .away), ("/back", .back), ("/block Bob", .block("Bob")),
            ("/unblock Bob ~mfrg", .unblock("Bob ~mfrg")),
            ("/mute Bob ~mfrg", .mute("Bob ~mfrg")), ("/mute ", .mute(nil)),
            ("/unmute Anna Maria", .unmute("Anna Maria")), ("/show", .show(nil)), ("/show Bob", .show("Bob")),
            ("/me waves at Bob ", .action("waves at Bob")), ("//me", .message("/me")),
            ("/nick Zoe", .nick("Zoe", isOnce: false)),
            ("/find two words", .find("two words")), ("/clear", .clear), ("/me", .misused("me", .missing)),
            ("/clear all", .misused("clear", .surplus)), ("/find", .misused("find", .missing)),
            ("/nick ", .misused("nick", .missing)),
            ("/unmute", .misused("unmute", .missing)),
            ("/whois", .misused("whois", .missing)), ("/verify ", .misused("verify", .missing)),
            ("/join", .misused("join", .missing)),
            ("/open", .misused("open", .missing)), ("/block", .misused("block", .missing)),
            ("/unblock", .misused("unblock", .missing)),
            ("/who Bob", .misused("who", .surplus)), ("/quit now", .misused("quit", .surplus)),
            ("/away\nfor long", .misused("away", .surplus)),
            ("/wo", .unknown("/wo", nearest: "/who")), ("/hepl", .unknown("/hepl", nearest: "/help")),
            ("/verfiy Bob", .unknown("/verfiy", nearest: "/verify")),
            ("/inv", .unknown("/inv", nearest: "/invite")), ("/unblok x", .unknown("/unblok", nearest: "/unblock")),
            ("/etc/passwd", .unknown("/etc/passwd", nearest: nil)), ("/xyzzy", .unknown("/xyzzy", nearest: nil)),
            ("/n\u{1B}ope x", .unknown("/n\\x1bope", nearest: nil)), ("/", .unknown("/", nearest: nil)),
            ("/ who", .unknown("/", nearest: nil)),
        ] as [(String, PromptCommand)])
    func reads(line: String, command: PromptCommand) {
        #expect(PromptCommand(line) == command)
    }

    @Test(
        "a command that can't be followed says what to do",
        arguments: [
            ("/whois", "/whois needs a name: /whois NAME"),
            ("/unmute", "/unmute needs a name: /unmute NAME"),
            ("/open", "/open needs the name or the number of a chat: /open NAME or NUMBER"),
            ("/who are you", "/who takes no argument. To begin a message with a slash, type two: //who"),
            (
                "/away lunch",
                "/away takes no reason, because others would not see it. Tell them first, then: /away"
            ), ("/notify maybe", "/notify takes on, off, icon on or icon off"),
            ("/wo", "There is no command /wo. Did you mean /who?"),
            (
                "/xyzzy",
                "There is no command /xyzzy. /help lists them; to begin a message with a slash, type two."
            ),
            ("/who", nil), ("hello", nil),
        ] as [(String, String?)])
    func complains(line: String, text: String?) {
        #expect(PromptCommand(line).complaint == text)
    }

    @Test("each command stands in the list, in one row of 40 columns, and has its help")
    func help() throws {
        #expect(PromptCommand.names.count == 33)
        #expect(PromptCommand.descriptions.count == 34)
        for (name, description) in zip(PromptCommand.names, PromptCommand.descriptions) {
            #expect(description.hasPrefix(name + " "))
            #expect(ChatLines.notice(description).plainRows(columns: 40) == ["* " + description])
            let help = try #require(PromptCommand.help(on: name))
            #expect(help.count >= 2 && help[0].hasPrefix(name))
            #expect(PromptCommand.help(on: String(name.dropFirst()).uppercased()) == help)
            #expect(PromptCommand(name) != .unknown(name, nearest: nil))
        }
        #expect(PromptCommand.descriptions[0] == "/who          see who is or was here")
        for description in PromptCommand.descriptions {
            #expect(Array(description)[13] == " " && Array(description)[14] != " ", "\(description)")
        }
        #expect(PromptCommand.descriptions.last == "//text        begin a message with /")
        for description in PromptCommand.keyDescriptions {
            #expect(ChatLines.notice(description).plainRows(columns: 40) == ["* " + description])
        }
        #expect(PromptCommand.help(on: "q") == PromptCommand.help(on: "quit"))
        #expect(PromptCommand.help(on: "nonsense") == nil)
    }
}

@Suite("Completion")
struct CompletionTests {
    static let candidates = Completion.Candidates(
        people: ["Bob", "Bobby", "Charlie ~mfrg", "Charlie ~abcd", "Anna Maria", "日本"],
        chats: ["kitchen", "kino", "lobby two"], muted: ["Bob", "Zoe"], folded: ["Bobby", "Charlie ~abcd"])

    struct Row: CustomTestStringConvertible, Sendable {
        let typed: String
        /// The text after the first Tab, and whether it is answered.
        let result: String
        var answer = Completion.Answer.completed
        /// The answer to a second Tab.
        var second = Completion.Answer.nothing
        var testDescription: String { typed }
    }

    @Test(
        "Tab adds what is certain, a second one lists what is possible",
        arguments: [
            Row(typed: "/whoi", result: "/whois "), Row(typed: "/v", result: "/verify "),
            Row(typed: "/VER", result: "/verify "),
            Row(typed: "/who", result: "/who", answer: .nothing, second: .choices(["/who", "/whois"])),
            Row(typed: "/wh", result: "/who", second: .choices(["/who", "/whois"])),
            Row(typed: "/", result: "/", answer: .nothing, second: .choices(PromptCommand.names)),
            Row(typed: "/x", result: "/x", answer: .nothing), Row(typed: "//w", result: "//w", answer: .nothing),
            Row(typed: "/whois a", result: "/whois Anna Maria"),
            Row(typed: "/whois anna m", result: "/whois Anna Maria"),
            Row(typed: "/verify @ann", result: "/verify @Anna Maria "),
            Row(typed: "/mute bobb", result: "/mute Bobby"), Row(typed: "/unmute bo", result: "/unmute Bob"),
            Row(typed: "/unmute @z", result: "/unmute @Zoe"),
            Row(typed: "/unmute c", result: "/unmute c", answer: .nothing),
            Row(typed: "/show c", result: "/show Charlie ~abcd"), Row(typed: "/show bo", result: "/show Bobby"),
            Row(typed: "/block ch", result: "/block Charlie ~", second: .choices(["Charlie ~mfrg", "Charlie ~abcd"])),
            Row(typed: "/block Charlie ~m", result: "/block Charlie ~mfrg"),
            Row(typed: "/whois bo", result: "/whois Bob", second: .choices(["Bob", "Bobby"])),
            Row(typed: "/open ki", result: "/open ki", answer: .nothing, second: .choices(["kitchen", "kino"])),
            Row(typed: "/open kin", result: "/open kino"), Row(typed: "/leave lobby t", result: "/leave lobby two"),
            Row(
                typed: "/open ", result: "/open ", answer: .nothing, second: .choices(["kitchen", "kino", "lobby two"])),
            Row(typed: "/join ki", result: "/join ki", answer: .nothing),
            Row(typed: "/help ver", result: "/help verify"),
            Row(typed: "ann", result: "Anna Maria "), Row(typed: "hi @ann", result: "hi @Anna Maria "),
            Row(typed: "hi anna mar", result: "hi Anna Maria "), Row(typed: "hi 日", result: "hi 日本 "),
            Row(typed: "hi @", result: "hi @", answer: .nothing, second: .choices(candidates.people)),
            Row(typed: "", result: "", answer: .nothing), Row(typed: "hi ", result: "hi ", answer: .nothing),
            Row(typed: "cabbob", result: "cabbob", answer: .nothing), Row(typed: "bobb", result: "Bobby "),
        ])
    func completes(_ row: Row) {
        var editor = LineEditor()
        _ = editor.handle(.paste(row.typed))
        var completion = Completion()
        #expect(completion.complete(&editor, among: Self.candidates) == row.answer)
        #expect(LineEditorTests.shown(editor) == row.result + "|")
        if row.answer == .nothing || row.second != .nothing {
            #expect(completion.complete(&editor, among: Self.candidates) == row.second)
            #expect(LineEditorTests.shown(editor) == row.result + "|")
        }
    }

    @Test("what stands behind the cursor stays")
    func middle() {
        var editor = LineEditor()
        for key in LineEditorTests.type("hi ann, hello") + [.wordLeft, .left, .left] { _ = editor.handle(key) }
        var completion = Completion()
        #expect(completion.complete(&editor, among: Self.candidates) == .completed)
        #expect(LineEditorTests.shown(editor) == "hi Anna Maria |, hello")
    }

    @Test("a key between two Tabs makes the second a first one")
    func between() {
        var editor = LineEditor()
        for key in LineEditorTests.type("/who") { _ = editor.handle(key) }
        var completion = Completion()
        #expect(completion.complete(&editor, among: Self.candidates) == .nothing)
        _ = editor.handle(.backspace)
        #expect(completion.complete(&editor, among: Self.candidates) == .completed)
        #expect(completion.complete(&editor, among: Self.candidates) == .choices(["/who", "/whois"]))
    }
}
