import Foundation
import InklingCLI
import InklingText
import ProcessSupport
import Testing

@Suite("Settings file")
struct SettingsFileTests {
    @Test("all settings are read")
    func all() throws {
        let text = """
            name = "Älice"
            chat = "kitchen"
            on-message = ["notify", "--quiet"]

            [indicator]
            style = "short"
            reduce-motion = true

            [interfaces]
            use = ["eth0", "wlan0"]

            [mentions]
            bell = true

            [notifications]
            show-texts = true

            [privacy]
            send-typing = false
            show-typing = true
            auto-away = false
            """
        var expected = SettingsFile()
        expected.name = "Älice"
        expected.chat = "kitchen"
        expected.indicator = .short
        expected.reducedMotion = true
        expected.interfaces = ["eth0", "wlan0"]
        expected.ringsForMentions = true
        expected.notifiesWithTexts = true
        expected.sendsTyping = false
        expected.showsTyping = true
        expected.messageHook = ["notify", "--quiet"]
        expected.goesAwayAlone = false
        #expect(try SettingsFile(text, path: "config.toml") == expected)
    }

    @Test("an empty file sets nothing, and a part sets that part alone")
    func parts() throws {
        #expect(try SettingsFile("", path: "config.toml") == SettingsFile())
        #expect(try SettingsFile("# nothing\n", path: "config.toml") == SettingsFile())
        var expected = SettingsFile()
        expected.excludedInterfaces = ["docker0"]
        #expect(try SettingsFile("interfaces.leave-out = ['docker0']", path: "config.toml") == expected)
    }

    @Test("a chat may be named by its invite, which may be longer than a name")
    func invite() throws {
        let invite = "inkling:\(String(repeating: "%20", count: 40))#abcdefghijklmnopqrstuvwxya"
        let settings = try SettingsFile("chat = \"\(invite)\"", path: "config.toml")
        #expect(settings.chat == invite)
        #expect(settings.warning(path: "my config", mode: 0o640)?.hasSuffix("chmod 600 'my config'") == true)
        #expect(settings.warning(path: "config.toml", mode: 0o604) != nil)
        #expect(settings.warning(path: "config.toml", mode: 0o600) == nil)
        #expect(settings.warning(path: "-", mode: nil) == nil)
        let named = try SettingsFile("chat = \"kitchen\"", path: "config.toml")
        #expect(named.warning(path: "config.toml", mode: 0o644) == nil, "anybody knows the name of an open chat")
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        let text: String
        let complaint: String

        init(_ text: String, _ complaint: String) {
            self.text = text
            self.complaint = complaint
        }

        var testDescription: String { text }
    }

    @Test(
        "what can't be used is refused in one line that names the file and the place",
        arguments: [
            Wrong("nam = \"x\"", "no setting \"nam\""),
            Wrong("[privacy]\nsendtyping = false", "no setting \"privacy.sendtyping\""),
            Wrong("[\"\\u001b[2J\"]", "no setting \"\\x1b[2J\""),
            Wrong("name = 3", "name takes text in quotes"),
            Wrong("name = \"\"", "name can't be used: it is empty"),
            Wrong("name = \"🦊\"", "name can't be used: it has no letter or digit that others could read"),
            Wrong("name = \"Bob (mfrggzdfmztwq2lk)\"", "name can't be used: it has a user ID in it"),
            Wrong(
                "chat = \"\(String(repeating: "x", count: 65))\"",
                "chat can't be used: it is too long (65 of at most 64 letters; "),
            Wrong("chat = \"a\\u0007\"", "chat can't be used: it contains a control character"),
            Wrong("chat = \"inkling:kitchen#abc\"", "chat can't be used: "),
            Wrong("privacy = true", "privacy is a table"),
            Wrong("privacy.send-typing = \"no\"", "privacy.send-typing takes true or false"),
            Wrong("indicator.reduce-motion = 1", "indicator.reduce-motion takes true or false"),
            Wrong("indicator.style = \"loud\"", "indicator.style takes one of \"standard\", \"short\", \"list\""),
            Wrong("interfaces.use = \"eth0\"", "interfaces.use takes a list of names"),
            Wrong("on-message = \"notify\"", "on-message takes a list of words"),
            Wrong("on-message = []", "on-message takes a program and its arguments"),
            Wrong("on-message = [\"\", \"x\"]", "on-message takes a program and its arguments"),
            Wrong("privacy.auto-away = 1", "privacy.auto-away takes true or false"),
            Wrong("interfaces.use = [1]", "interfaces.use takes a list of names"),
            Wrong("interfaces.use = []\ninterfaces.leave-out = []", "interfaces.leave-out can't be combined with"),
            Wrong("name = \"a\"\n\nname = \"b\"", "line 3"),
            Wrong("name = \"a\"\n[privacy\n", "line 2"),
            Wrong("name = \"a\"\n[![table]]", "line 2: a table needs a name, as in [privacy]"),
            Wrong("[[ \u{E9}]]", "line 1: a table needs a name"), Wrong("\n [\nname]", "line 2: a table needs a name"),
            Wrong("[", "line 1: a table needs a name"), Wrong("\u{FEFF}[\r\n", "line 1: a table needs a name"),
            Wrong("name = \"a", "line 1"), Wrong("\n\nname = 1979-05-27T&7:32\n", "line 3: this can't be read"),
            Wrong("name = [1979-05-27T&7:32]", "line 1: this can't be read"),
            Wrong("chat = \"a\"\n# \u{0}\nname = \"b\"", "line 2: NUL"),
            Wrong("name = \"a\\u0000b\"", "line 1: NUL"),
            Wrong("\ninterfaces.use = [\"eth0\\U00000000\"]", "line 2: NUL"),
            Wrong("name = Frank", "line 1: text must be in quotes, as in name = \"…\""),
            Wrong("\n[interfaces]\nuse = [eth0]", "line 3: text must be in quotes, as in use = [\"…\"]"),
        ])
    func refused(_ wrong: Wrong) {
        do {
            _ = try SettingsFile(wrong.text, path: "config.toml")
            Issue.record("it was taken")
        } catch {
            #expect(error.text.contains(wrong.complaint), "\(error.text)")
            #expect(error.text.contains("config.toml"))
            #expect(!error.text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }

    @Test(
        "as much as a file can hold may be nested, and is refused",
        arguments: [
            ("\nname", ".a", " = 1"), ("\n[name", ".a", "]"), ("\ninterfaces.use = ", "[", ""),
            ("\nname = ", "{a=", ""),
        ])
    func nested(_ begin: String, _ level: String, _ end: String) {
        let levels = (SettingsFile.maximumBytes - begin.utf8.count - end.utf8.count) / level.utf8.count
        let text = begin + String(repeating: level, count: levels) + end
        #expect { try SettingsFile(text, path: "config.toml") } throws: { error in
            (error as? SettingsFile.Refusal)?.text.hasPrefix("config.toml, line 2: ") == true
        }
    }

    @Test(
        "what begins no table is a text like any other within one",
        arguments: ["[![table]]", "[ é]", "1979-05-27T&7:32", String(repeating: ".", count: 64)])
    func texts(_ text: String) throws {
        #expect(try SettingsFile("chat = \"\"\"\n\(text)\"\"\"\n", path: "config.toml").chat == text)
    }

    @Test(
        "a text that is written into a file is the one that is read from it",
        arguments: ["Alice", "Älice 😀", #"a "b" \c\ 'd'"#, "a\tb\r\nc\u{1}\u{7F}\u{1B}[2J", "\u{FEFF}\u{2028}x", "#="])
    func written(_ text: String) throws {
        let line = "interfaces.use = [\(tomlString(text))]"
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
        let read = try SettingsFile(line, path: "config.toml").interfaces?.first
        #expect(read.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
    }

    @Test("a file that is not named may be missing, one that is named may not")
    func missing() throws {
        #expect(try SettingsFile.read("/nowhere/config.toml", isNamed: false) == SettingsFile())
        #expect(throws: SettingsFile.Refusal.self) { try SettingsFile.read("/nowhere/config.toml", isNamed: true) }
        // The path is a directory, which `read` refuses.
        #expect(throws: SettingsFile.Refusal.self) { try SettingsFile.read("/", isNamed: false) }
    }

    @Test("a file is read from the disk, unless it is too long or no UTF-8")
    func read() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/config.toml"
        try Data("name = \"Bob\"\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try SettingsFile.read(path, isNamed: false).name == "Bob")
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try SettingsFile.read(path, isNamed: true) == SettingsFile())
        try Data([0x23, 0xFF, 0x0A]).write(to: URL(fileURLWithPath: path))
        #expect(throws: SettingsFile.Refusal.self) { try SettingsFile.read(path, isNamed: false) }
        try Data(repeating: 0x0A, count: SettingsFile.maximumBytes + 1).write(to: URL(fileURLWithPath: path))
        #expect(throws: SettingsFile.Refusal.self) { try SettingsFile.read(path, isNamed: false) }
    }

    @Test("the file lies in XDG_CONFIG_HOME if that is absolute, else in the home directory")
    func path() {
        func path(_ environment: [String: String]) -> String? {
            SettingsFile.defaultPath { environment[$0] }
        }
        #expect(path(["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == "/c/inkling/config.toml")
        #expect(path(["XDG_CONFIG_HOME": "c", "HOME": "/h"]) == "/h/.config/inkling/config.toml")
        #expect(path(["HOME": "/h"]) == "/h/.config/inkling/config.toml")
        #expect(path([:]) == nil)
    }
}
