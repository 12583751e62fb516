import Foundation
import Inkling
import InklingConsole
import InklingCLI
import ProcessSupport
import Testing

@Suite("Texts that commands are given, and give")
struct TextsTests {
    @Test(
        "a word for a shell stands in quotes where it has to",
        arguments: [
            ("kitchen", "kitchen"), ("Küche", "Küche"), ("a/b.txt", "a/b.txt"), ("two words", "'two words'"),
            ("", "''"), ("it's", #"'it'\''s'"#), ("$(x)", "'$(x)'"), ("~", "'~'"), ("#1", "'#1'"),
            ("'\u{301};x", "''\\''\u{301};x'"), ("\u{D4E};x", "'\u{D4E};x'"), ("\u{D4E}'", "'\u{D4E}'\\'''"),
        ])
    func word(_ text: String, _ quoted: String) {
        #expect(ShellQuoting.word(text) == quoted)
    }

    @Test("a command is told of an open chat by its name, and of a secret one by its invite, which stays unsaid")
    func chatArguments() throws {
        let secret = "abcdefghijklmnopqrstuvwxya"
        #expect(ShellQuoting.arguments(naming: try Chat("kitchen")) == " kitchen")
        #expect(ShellQuoting.arguments(naming: try Chat("x; rm -r y")) == " 'x; rm -r y'")
        #expect(ShellQuoting.arguments(naming: try Chat("-x")) == " -- -x")
        #expect(ShellQuoting.arguments(naming: try Chat(invite: "inkling:x%3B%20rm#\(secret)")) == " --invite INVITE")
    }

    @Test(
        "what the library states, the program says with its own options and commands",
        arguments: [
            (NodeError.name(.empty), "Choose another with --name."),
            (.name(.tooLong(bytes: 70, maximum: 64)), "it is too long (70 of at most 64 letters; accents and emoji"),
            (.secret(.length(3)), "\"inkling invite NAME\""), (.secret(.length(1)), "it has 1 character instead"),
            (.invite(.scheme), "\"inkling invite NAME\" makes one."),
            (.portTaken(7), "with --port, or leave it out to get a free one."),
            (.portNotAllowed(7), "Choose one above 1023 with --port."),
            (.bindAddress("::9"), "with --bind, or leave it out."),
            (.bindAddressWithoutInterface("fe80::1"), "as fe80::1%eth0."),
            (.socket("no"), "Run \"inkling doctor\" to find the cause."),
            (.stateDirectory(.newer(path: "/x")), "or choose another directory with --state-dir."),
            (.stateDirectory(.foreign(path: "/x")), "directory with --state-dir."),
            (.stateDirectory(.unwritable(path: "/x", reason: "no")), "choose another with --state-dir."),
            (.identityText, "Make one with \"inkling identity export FILE\"."),
            (.identityExists("/x"), "with --force."),
            (.interface("eth9", known: ["eth0", "lo"]), "Choose among: eth0, lo."), (.stopped, "Start another."),
        ])
    func advice(_ error: NodeError, _ part: String) {
        #expect(error.text.contains(part) && error.text.hasPrefix(error.fact), "\(error.text)")
        #expect(!error.description.contains("--") && !error.description.contains("inkling doctor"))
        #expect(!error.text.contains("\n"))
    }

    @Test(
        "so it does with notices",
        arguments: [
            (Notice.discoveryDown(.absent), "--peer HOST:PORT."), (.discoveryDown(.gone), "--peer HOST:PORT."),
            (.discoveryDown(.noThread), "--peer HOST:PORT."), (.discoveryDown(.refused), "or leave chats."),
            (.identityTemporary(.inUse(directory: "/x")), "use /join in the other program"),
            (.identityTemporary(.noHome), "with --state-dir."), (.discoveryUp, "Discovery works again."),
            (.lastWillOff(.missing(path: "/x")), "Install inkling-lastwill beside this program."),
        ])
    func notice(_ notice: Notice, _ part: String) {
        #expect(notice.text.contains(part) && notice.text.hasPrefix(notice.fact), "\(notice.text)")
        #expect(!notice.description.contains("--"))
    }

    @Test(
        "a misspelled command is answered with the one that was meant",
        arguments: [
            ("hepl", "did you mean: inkling help"), ("chta kitchen", "did you mean: inkling chat"),
            ("per", "did you mean: inkling peers"), ("Send x y", "did you mean: inkling send"),
            ("identity shwo", "did you mean: inkling identity show"),
            ("identity exprot x", "did you mean: inkling identity export"),
            (
                "kitchen",
                "the commands are chat, invite, peers, send, watch, web, tray, daemon, status, stop, join, leave, chats, "
                    + "doctor, identity, forget; to open a chat: inkling chat kitchen"
            ), ("deamon", "did you mean: inkling daemon"),
            ("identity x", "the commands are show, export, import"), ("help snd", "did you mean: inkling send"),
            ("help identity shwo", "did you mean: inkling identity show"),
        ])
    func misspelled(_ line: String, _ advice: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(Suggestion.complaint(about: words)?.hasSuffix("; " + advice) == true)
    }

    @Test("a chat's line says who is there, and whether the daemon still looks for others (A-35)")
    func chatLines() {
        let chats = [
            ChatStatus("kitchen", isKept: true, unread: 3, present: 2), ChatStatus("team", hasSecret: true),
            ChatStatus("attic", isLooking: true), ChatStatus("den", hasSecret: true, present: 1, isLooking: true),
        ]
        #expect(
            chats.map(\.line) == [
                "kitchen (open): 2 there, 3 unread, kept", "team: 0 there", "attic (open): still looking",
                "den: 1 there, still looking",
            ])
    }

    @Test("the end of the daemon names the chats that stay kept, and counts the messages that are lost")
    func daemonEnd() {
        var team = ChatStatus("team", hasSecret: true, isKept: true, unread: 7)
        team.holdsTexts = true
        let chats = [ChatStatus("kitchen", isKept: true, unread: 1), team, ChatStatus("attic", unread: 1)]
        #expect(
            DaemonEnd.lines(chats) == [
                "The daemon has ended", "Kept for the next start: kitchen, team", "2 unread messages are lost",
            ])
        #expect(DaemonEnd.lines([]) == ["The daemon has ended"])
    }

    @Test("nothing is said of commands that there are, of options, or of the words after a command")
    func spelled() {
        for words in [
            [], ["help"], ["help", "chat"], ["chat", "hepl"], ["--version"], ["identity", "show"], ["identity"],
        ] {
            #expect(Suggestion.complaint(about: words) == nil, "\(words)")
        }
        #expect(Suggestion.complaint(about: [String(repeating: "x", count: 100_000)]) != nil)
    }

    @Test(
        "a message with a blank that begins with a dash stands behind --, and all else stays where it is",
        arguments: [
            (["send", "room", "-n dashes"], ["send", "room", "--", "-n dashes"]),
            (["send", "room", "- the first", "--json"], ["send", "room", "--json", "--", "- the first"]),
            (["send", "room", "--version of tea", "--"], ["send", "room", "--", "--version of tea"]),
            (["send", "--invite-file", "x", "-h\n"], ["send", "--invite-file", "x", "--", "-h\n"]),
            (["send", "room", "tea", "--name=Al Ice"], nil),
            (["send", "room", "--", "-n dashes", "--version"], nil), (["send", "room", "-"], nil),
            (["send", "room", "--json"], nil), (["send", "room", "tea", "--jsno"], nil), (["send", "--help"], nil),
            (["send", "--name", "Alice", "--help"], nil), (["send", "room", "tea", "-h"], nil),
            (["peers", "-n dashes", "-h"], nil), ([], nil),
        ] as [([String], [String]?)])
    func dashedMessage(_ words: [String], _ arranged: [String]?) throws {
        #expect(try DashedMessage.arranged(words) == arranged ?? words)
    }

    @Test(
        "another message that begins with a dash is refused, with what to write instead",
        arguments: [
            (["room", "-5"], "-5"), (["room", "--version"], "--version"), (["--json", "room", "-h"], "-h"),
            (["room", "-hello"], "-hello"), (["room", "-hello", "there"], "-hello"), (["room", "--", "-5"], nil),
            (["room", "--wait", "1", "--tea"], "--tea"), (["--invite-file", "x", "--help"], "--help"),
            (["-the room", "tea"], "-the room"),
        ] as [([String], String?)])
    func refusedMessage(_ words: [String], _ message: String?) {
        let refusal: DashedMessage.Refusal?
        do {
            _ = try DashedMessage.arranged(["send"] + words)
            refusal = nil
        } catch {
            refusal = error
        }
        let start = message.map {
            "put -- before a message that begins with a dash: inkling send CHAT -- \"\($0)\""
        }
        #expect(start.map { refusal?.text.hasPrefix($0) == true } ?? (refusal == nil), "\(refusal as Any)")
    }

    @Test("the name of the last chat is kept for its owner alone, and read again")
    func lastName() throws {
        let folder = try TemporaryFolder()
        #expect(RememberedName.read(in: folder.path) == nil)
        for name in ["Älice", "Bob"] {
            RememberedName.keep(name, in: folder.path)
            #expect(RememberedName.read(in: folder.path) == name)
        }
        #expect(folder.mode("name") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["name"])
        for text in ["", "Bob", " \n", "a\u{1B}b\n", "a\nb\n", String(repeating: "x", count: 65) + "\n"] {
            try folder.write(text, to: "name")
            #expect(RememberedName.read(in: folder.path) == nil, "\(text)")
        }
        RememberedName.keep("Carol", in: folder.path + "/missing")
        RememberedName.keep("Carol", in: nil)
    }

    @Test("a small file is read whole, from a pipe too, and not beyond its limit")
    func smallFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        func reading(_ text: [UInt8]) throws -> String {
            try Data(text).write(to: URL(fileURLWithPath: path))
            return try SmallFile.text(path, maximumBytes: 4)
        }
        #expect(try reading([]) == "")
        #expect(try reading(Array("four".utf8)) == "four")
        #expect(throws: SmallFile.Failure.tooLong) { try reading(Array("fives".utf8)) }
        #expect(throws: SmallFile.Failure.noText) { try reading([0xFF]) }
        #expect(throws: SmallFile.Failure.unreadable) { try SmallFile.text("/", maximumBytes: 4) }
        #expect(throws: SmallFile.Failure.unreadable) { try SmallFile.text("/nowhere", maximumBytes: 4) }
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("pipe".utf8))
        try pipe.fileHandleForWriting.close()
        let end = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        #expect(try SmallFile.text(end, maximumBytes: 4) == "pipe")
    }

    @Test("a secret is written over a regular file where that is wanted, and over nothing else, which is named")
    func protectedFile() throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.path
        func complaint(_ path: String, replacing: Bool) -> String? {
            do {
                try ProtectedFile.write("key", to: path, replacing: replacing)
                return nil
            } catch {
                return "\(error)"
            }
        }
        let file = folder + "/file"
        #expect(complaint(file, replacing: false) == nil)
        #expect(complaint(file, replacing: false)?.contains("already exists") == true)
        #expect(complaint(file, replacing: true) == nil)
        #expect(mkfifo(folder + "/pipe", 0o600) == 0 && symlink(file, folder + "/link") == 0)
        let places = [
            (folder + "/pipe", "a pipe"), (folder + "/link", "a symbolic link"), (folder, "a directory"),
            ("/dev/null", "a device"),
        ]
        for (place, kind) in places {
            for replacing in [false, true] {
                let said = complaint(place, replacing: replacing)
                #expect(said?.contains("\(place) is \(kind), not a regular file") == true, "\(said ?? "")")
                #expect(said?.contains("--force") == false)
            }
            #expect(SmallFile.kindUnlessRegular(place) == kind)
        }
    }

    @Test(
        "a time is told in milliseconds with one decimal",
        arguments: [
            (Duration.zero, "0.0 ms"), (.microseconds(49), "0.0 ms"), (.microseconds(51), "0.1 ms"),
            (.microseconds(1_960), "2.0 ms"), (.milliseconds(12_345), "12345.0 ms"), (.microseconds(-1_200), "-1.2 ms"),
        ])
    func milliseconds(_ time: Duration, _ text: String) {
        #expect(time.millisecondText == text)
    }

    @Test("the folders above a file are made for their owner alone, and those that are there stay as they are")
    func folders() throws {
        let top = try TemporaryFolder()
        chmod(top.path, 0o755)
        SmallFile.makeFolders(above: top.path + "/a/b/file")
        #expect(top.mode("") == 0o755 && top.mode("a") == 0o700 && top.mode("a/b") == 0o700)
        #expect(!FileManager.default.fileExists(atPath: top.path + "/a/b/file"))
    }

    // W-33
    @Test("a word of the command line that is not UTF-8 is refused by its number")
    func invalidWord() {
        let lines: [([[UInt8]], Int?)] = [
            ([Array("inkling".utf8), Array("chat".utf8), Array("café".utf8)], nil),
            ([Array("inkling".utf8), Array("chat".utf8), [0x63, 0xE9]], 2), ([[0xFF], [0xC3]], 1), ([], nil),
        ]
        for (words, number) in lines {
            var pointers = words.map { word in strdup(word.map { CChar(bitPattern: $0) } + [0]) } + [nil, nil]
            #expect(
                pointers.withUnsafeMutableBufferPointer { InklingCommand.invalidWord($0.baseAddress.unsafelyUnwrapped) }
                    == number)
            for pointer in pointers { free(pointer) }
        }
    }
}
