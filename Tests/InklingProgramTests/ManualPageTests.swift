import Foundation
import InklingCLI
import InklingConsole
import Testing

/// The tables of `Documentation/using.md`, which the manual page has too, compared with the code. The program describes
/// its commands and options in the manual page itself.
@Suite("Manual page")
struct ManualPageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

    /// Returns the first two cells of each row in a section, without the markup of the first one.
    private static func rows(_ title: String) throws -> [(term: String, text: String)] {
        let page = try String(contentsOf: root.appending(path: "Documentation/using.md"), encoding: .utf8)
        let section = page.split(separator: "\n## ").first { $0.hasPrefix(title + "\n") }
        let lines = try #require(section, "there is no section \(title)").split(separator: "\n")
        return lines.filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.dropFirst(2).split(separator: " | ", maxSplits: 1)
            return (term: String(cells[0].replacing("`", with: "")), text: String(cells[1]))
        }
    }

    private static func terms(_ title: String) throws -> Set<String> {
        Set(try rows(title).flatMap { $0.term.split(separator: ", ").map(String.init) })
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
        "Node/Inkling", "Service/InklingService", "Program/InklingCLI", "Program/InklingProgram",
    ]

    @Test("it has the commands of the prompt, with the arguments that /help shows")
    func commands() throws {
        let listed = try Self.terms("At the prompt").filter { $0.hasPrefix("/") }
        #expect(listed == Set(PromptCommand.names.compactMap { PromptCommand.help(on: $0)?.first }))
    }

    @Test("it has the keys that /help has")
    func keys() throws {
        let listed = try Self.rows("At the prompt")
        for line in PromptCommand.keyDescriptions {
            let blanks = try #require(line.firstRange(of: #/ {2,}/#))
            let (key, purpose) = (line[..<blanks.lowerBound], line[blanks.upperBound...])
            #expect(listed.contains { $0.term == key && $0.text.hasPrefix(purpose) }, "\(line)")
        }
    }

    @Test("it has the letters that the line editor takes with Ctrl and Alt")
    func letters() throws {
        let terms = try Self.rows("At the prompt").map(\.term).filter { !$0.hasPrefix("/") }
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
        let listed = try Self.rows("Settings").map(\.term)
        #expect(Set(listed) == Set(SettingsFile.values.map { "\($0.key) = \($0.value)" }))
        #expect(listed.count == SettingsFile.values.count)
    }

    @Test("it has the variables of the environment that the program reads, and those that it sets for a command")
    func environment() throws {
        let listed = try Self.terms("Environment")
        var used = try Self.found(#/(?:nvironment|getenv)\("([A-Z_]+)"\)/#, in: Self.program)
        used.formUnion(try Self.found(#/"(INKLING_[A-Z]+)":/#, in: Self.program))
        #expect(listed == used)
    }

    @Test("it has the exit statuses that the program ends with")
    func statuses() throws {
        let listed = try Self.terms("Exit status")
        let used = try Self.found(#/(?:ExitCode\(|status: |: Int32 = )([0-9]+)\b(?! \+)/#, in: ["Program/InklingCLI"])
        #expect(used.subtracting(listed).isEmpty)
    }

    @Test("it has the files of the state directory")
    func files() throws {
        let listed = Set(try Self.terms("Files").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 })
        var used = try Self.found(#/\\\((?:directory|path)\)/([a-z]+)"/#, in: Self.program)
        used.formUnion(try Self.found(#/directory \+ "/([a-z]+)"/#, in: Self.program))
        let constants = #/static let (?:name|fileName|copyName|damagedName|lockName) = "([a-z.-]+)"/#
        used.formUnion(try Self.found(constants, in: Self.program))
        #expect(used.isSuperset(of: ["identity", "lock", "name", "socket", "state.db", "state.copy.db"]))
        #expect(used.subtracting(listed).isEmpty)
    }
}
