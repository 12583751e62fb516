import Foundation
import InklingCLI
import InklingConsole
import Testing

/// The hand-written lists of the manual page, compared with the code. Commands and options come from the program.
@Suite("Manual page")
struct ManualPageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

    /// The lines of a section, without comments.
    private static func section(_ title: String) throws -> [String] {
        let page = try String(
            contentsOf: root.appending(path: "Scripts/docs.d/inkling.1.in"), encoding: .utf8)
        let lines = page.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: ".SH \(title)"), "there is no section \(title)")
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(".SH ") })
    }

    /// Returns the term and the text of each item of a section, as a reader sees them.
    private static func items(_ title: String) throws -> [(term: String, text: String)] {
        var items: [(term: String, text: String)] = []
        var isTerm = false
        var isItem = false
        for line in try section(title) {
            let shown = plain(line)
            if line == ".TP" {
                isTerm = true
            } else if isTerm {
                items.append((shown, ""))
                (isTerm, isItem) = (false, true)
            } else if line.hasPrefix(".SS") || line == ".PP" {
                isItem = false
            } else if isItem, line != ".br" {
                items[items.count - 1].text += (items[items.count - 1].text.isEmpty ? "" : " ") + shown
            }
        }
        return items
    }

    /// Returns a line without macros for fonts, and without escapes.
    private static func plain(_ line: String) -> String {
        var text = line
        if text.hasPrefix("."), let blank = text.firstIndex(of: " ") {
            let isAlternating = text[..<blank].count > 2
            text = String(text[text.index(after: blank)...])
            if isAlternating { text = text.replacing(#/"([^"]*)" ?|([^" ]+) ?/#) { $0.1 ?? $0.2 ?? "" } }
        }
        return text.replacing(#/\\f[BIRP]/#, with: "").replacing("\\-", with: "-").replacing("\\(ti", with: "~")
            .replacing("\\(dq", with: "\"")
    }

    /// Returns the matches of a pattern's first group in the sources of the program and its libraries.
    private static func found(_ pattern: Regex<(Substring, Substring)>, in folders: [String]) throws -> Set<String> {
        var found: Set<String> = []
        for folder in folders {
            let sources = root.appending(path: "Sources/\(folder)")
            let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                found.formUnion(text.matches(of: pattern).map { String($0.1) })
            }
        }
        return found
    }

    private static let program = [
        "Node/Inkling", "Program/InklingCLI", "Program/InklingControl", "Program/InklingProgram",
    ]

    @Test("it explains the commands of the prompt as /help does, in the same order")
    func commands() throws {
        let listed = try Self.items("AT THE PROMPT").filter { $0.term.hasPrefix("/") }
        let explained = PromptCommand.names.map { name in
            let lines = PromptCommand.help(on: name) ?? []
            return (term: lines.first ?? "", text: lines.dropFirst().joined(separator: " "))
        }
        #expect(listed.map(\.term) == explained.map(\.term))
        for (item, command) in zip(listed, explained) { #expect(item.text == command.text) }
    }

    @Test("it has the keys that /help has")
    func keys() throws {
        let listed = try Self.items("AT THE PROMPT")
        for line in PromptCommand.keyDescriptions {
            let blanks = try #require(line.firstRange(of: #/ {2,}/#))
            let (key, purpose) = (line[..<blanks.lowerBound], line[blanks.upperBound...])
            #expect(listed.contains { $0.term == key && $0.text.hasPrefix(purpose) }, "\(line)")
        }
    }

    @Test("it has the letters that the line editor takes with Ctrl and Alt")
    func letters() throws {
        let terms = try Self.items("AT THE PROMPT").map(\.term).filter { !$0.hasPrefix("/") }
        var listed: Set<String> = []
        for term in terms {
            var modifier = ""
            for key in term.split(separator: ", ") {
                if let dash = key.firstIndex(of: "-"), dash > key.startIndex { modifier = String(key[..<dash]) }
                listed.insert(key.hasPrefix("-") ? modifier + key : String(key))
            }
        }
        let editor = try String(
            contentsOf: Self.root.appending(path: "Sources/Program/InklingConsole/LineEditor.swift"), encoding: .utf8)
        for (modifier, function) in [("Ctrl", "handleControl"), ("Alt", "handleAlt")] {
            let start = try #require(editor.range(of: "func \(function)(")).upperBound
            let end = try #require(editor.range(of: "default:", range: start..<editor.endIndex)).lowerBound
            let letters = editor[start..<end].matches(of: #/case "([a-z])"/#).map { $0.1.uppercased() }
            #expect(!letters.isEmpty)
            for letter in letters { #expect(listed.contains("\(modifier)-\(letter)"), "\(modifier)-\(letter)") }
        }
    }

    @Test("it has all settings, with what they take")
    func settings() throws {
        let listed = try Self.items("SETTINGS").map(\.term)
        #expect(Set(listed) == Set(SettingsFile.values.map { "\($0.key) = \($0.value)" }))
        #expect(listed.count == SettingsFile.values.count)
    }

    @Test("it has the variables of the environment that the program reads, and those that it sets for a command")
    func environment() throws {
        let listed = try Self.items("ENVIRONMENT").flatMap { $0.term.split(separator: ", ").map(String.init) }
        var used = try Self.found(#/(?:nvironment|getenv)\("([A-Z_]+)"\)/#, in: Self.program)
        used.formUnion(try Self.found(#/"(INKLING_[A-Z]+)":/#, in: Self.program))
        #expect(Set(listed) == used)
    }

    @Test("it has the exit statuses that the program ends with")
    func statuses() throws {
        let listed = Set(try Self.items("EXIT STATUS").map(\.term))
        let used = try Self.found(#/(?:ExitCode\(|status: |: Int32 = )([0-9]+)\b(?! \+)/#, in: ["Program/InklingCLI"])
        #expect(used.subtracting(listed).isEmpty)
    }

    @Test("it has the files of the state directory")
    func files() throws {
        let listed = Set(try Self.items("FILES").flatMap { $0.term.split(separator: ", ").map(String.init) })
        var used = try Self.found(#/\\\((?:directory|path)\)/([a-z]+)"/#, in: Self.program)
        used.formUnion(try Self.found(#/directory \+ "/([a-z]+)"/#, in: Self.program))
        used.formUnion(try Self.found(#/static let (?:name|fileName|damagedName) = "([a-z.-]+)"/#, in: Self.program))
        #expect(used.isSuperset(of: ["identity", "lock", "name", "socket", "known-peers.json", "kept-chats.json"]))
        #expect(used.subtracting(listed).isEmpty)
    }
}
