import Foundation
import InklingConsole
import InklingModel
import InklingText
import Testing

/// The escape sequences that the screen itself writes.
enum ScreenGrammar {
    private static let fixed: Set<String> = ["[?25l", "[?25h", "[?7l", "[?7h", "[J", "[K"]
    private static let emphases: Set<String> = [
        "[0m", "[1m", "[2m", "[1;31m", "[1;32m", "[1;33m", "[1;35m", "[1;36m", "[1;94m",
    ]

    /// The text without the screen's own sequences; `nil` if there is anything else that a terminal would obey.
    static func text(of bytes: [UInt8], decorated: Bool) -> String? {
        guard let whole = String(validating: bytes, as: UTF8.self) else { return nil }
        let scalars = Array(whole.unicodeScalars)
        var text = String.UnicodeScalarView()
        var index = 0
        while index < scalars.count {
            defer { index += 1 }
            let scalar = scalars[index]
            if scalar == "\r" {
                text.append(scalar)
            } else if scalar == "\n" {
                guard text.last == "\r" else { return nil }
                text.append(scalar)
            } else if scalar == "\u{1B}" {
                let end = scalars[(index + 1)...].firstIndex { ("A"..."Z").contains($0) || ("a"..."z").contains($0) }
                guard let end else { return nil }
                var sequence = String.UnicodeScalarView()
                sequence.append(contentsOf: scalars[(index + 1)...end])
                guard isKnown(String(sequence), decorated) else { return nil }
                index = end
            } else if scalar.properties.generalCategory == .control {
                return nil
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }

    private static func isKnown(_ sequence: String, _ decorated: Bool) -> Bool {
        if fixed.contains(sequence) || decorated && emphases.contains(sequence) { return true }
        guard sequence.first == "[", let final = sequence.last, "ABC".contains(final) else { return false }
        let digits = sequence.dropFirst().dropLast()
        return (1...4).contains(digits.count) && digits.allSatisfy { $0.isASCII && $0.isNumber }
    }
}

@Suite("Terminal safety")
struct TerminalSafetyTests {
    static let nfkc: @Sendable (String) -> String = { $0.precomposedStringWithCompatibilityMapping }

    /// A chat with Bob and with somebody whose name is the text.
    static func labels(_ text: String) -> (bob: Labels.Label, other: Labels.Label) {
        var labels = Labels(ownName: "Alice")
        labels.update(Labels.Person(user: "bbbbbbbbbbbbbbbb", name: "Bob", acquaintance: .known, isVerified: true))
        labels.update(Labels.Person(user: "mallorymallory22", name: text.precomposedStringWithCanonicalMapping))
        return (labels.label(of: "bbbbbbbbbbbbbbbb"), labels.label(of: "mallorymallory22"))
    }

    /// Everything that can be shown of somebody who calls themselves so, says so, and is in a chat of that name.
    static func lines(_ text: String, _ other: Labels.Label, _ mallory: Labels.Label) -> [Line] {
        var delivery = Delivery(text: text, recipients: 2)
        delivery.succeed()
        delivery.fail(other, why: .silence)
        var timeline = Timeline()
        let time = LocalTime(day: LocalTime.Day(year: 2026, month: 3, day: 3), hour: 9, minute: 5)
        let plain = [
            ChatLines.message(from: mallory, text: text), ChatLines.message(from: other, text: "hello"),
            ChatLines.own(text: text),
            ChatLines.presence(PresenceLine(labels: [other], change: .online)),
            ChatLines.presence(PresenceLine(labels: [other, mallory], change: .silent)),
            ChatLines.presence(PresenceLine(labels: [mallory], change: .left)),
            ChatLines.reachedNobody(text: text),
            ChatLines.notice(text), ChatLines.error(text), ChatLines.openWarning(chat: text),
            ChatLines.changedKey(other, known: "Bob", formerName: text), ChatLines.anotherKey(other, known: text),
            ChatLines.changedKeys(of: [other, mallory]),
            ChatLines.folded(12, from: [other]), ChatLines.notKept(3, from: other),
            ChatLines.nothingFolded(from: other), ChatLines.muted(other, isNew: true),
            ChatLines.unmuted(other, presence: text, messages: 2), folded(text, other),
            ChatLines.person(other, presence: text, isVerified: true),
            ChatLines.person(mallory, presence: text),
            ChatLines.chat(number: 1, name: text, isOpen: true, unread: 3, isCurrent: true),
            ChatLines.choices([other.text, text]),
            PromptCommand("/" + text).complaint.map { ChatLines.error($0) } ?? ChatLines.notice("fine"),
        ]
        // Of a very long text the one message tells as much as two dozen lines.
        if text.utf8.count > 4_096 { return [plain[0], plain[1]] }
        return plain + [delivery.line ?? ChatLines.notice("none")] + timeline.stamped(Array(plain[..<3]), at: time)
    }

    /// A message that is shown in part.
    private static func folded(_ text: String, _ other: Labels.Label) -> Line {
        var line = ChatLines.message(from: other, text: text + "\n" + text + "\nthird\nfourth")
        line.fold = Line.Fold(longest: 3, shown: 2, command: "/show " + other.text)
        return line
    }

    /// How a row may begin that is the first of its line.
    static func begins(_ other: Labels.Label) -> [String] {
        [
            "Mallory: ", "\(other.marked): ", "You: ", "* ", "! ", "!! ", "09:05 Mallory: ", "09:05 \(other.marked): ",
            "09:05 You: ",
        ]
    }

    /// Joiners, Hangul vowels and final consonants, voicing marks and skin tones, which stand on a base as marks do.
    private static func pilesUp(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200C, 0x200D, 0xFE0F, 0x1160...0x11FF, 0xD7B0...0xD7FF, 0xFF9E...0xFF9F, 0x1F3FB...0x1F3FF: true
        default: false
        }
    }

    static func mostMarks(in text: String) -> Int {
        var (most, run) = (0, 0)
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark, .enclosingMark: run += 1
            default: run = pilesUp(scalar) ? run + 1 : 0
            }
            most = max(most, run)
        }
        return most
    }

    @Test("the corpus is large enough, and no row stands in it twice")
    func size() {
        #expect(Set(HostileTexts.all.map { Array($0.text.unicodeScalars) }).count >= 300)
        #expect(Set(HostileTexts.all.map(\.name)).count == HostileTexts.all.count)
    }

    /// The text without the isolates of names; nil if they don't begin and end in turn.
    private static func unisolated(_ text: String) -> String? {
        var result = String.UnicodeScalarView()
        var isInside = false
        for scalar in text.unicodeScalars {
            switch (scalar, isInside) {
            case ("\u{2068}", false), ("\u{2069}", true): isInside.toggle()
            case ("\u{2068}", true), ("\u{2069}", false): return nil
            default: result.append(scalar)
            }
        }
        return isInside ? nil : String(result)
    }

    // S-5
    @Test("what is shown of a peer obeys the peer in nothing", arguments: HostileTexts.all)
    func screens(_ row: HostileTexts.Row) throws {
        let (bob, other) = Self.labels(row.text)
        let mallory = Self.labels("Mallory").other
        let lines = Self.lines(row.text, other, mallory)
        let indicator = IndicatorText.text(people: [other, bob]) + "..."
        let unread = [Prompt.Unread(chat: row.text, isOpen: true, count: 3)]
        let isLong = row.text.utf8.count > 4_096
        for columns in isLong ? [40] : [40, 80] {
            for decorated in isLong ? [true] : [true, false] {
                var stage = Stage(columns: columns, rows: 100, decorated: decorated)
                stage.prompt = Prompt(
                    chat: row.text, isOpen: true, other: Prompt.Other(label: other, presence: "Active now"),
                    unread: unread
                ).text(columns: columns)
                #expect(DisplayWidth.of(stage.prompt) <= columns - 8 && stage.prompt.hasSuffix("> "))
                stage.indicator = indicator
                if row.text.utf8.count < 2_000 { _ = stage.editor.handle(.paste(row.text)) }
                let bytes = stage.screen.draw(
                    appending: lines, indicator: indicator, prompt: stage.prompt, editor: stage.editor)
                let text = try #require(
                    ScreenGrammar.text(of: bytes, decorated: decorated), "a sequence that the screen does not write")
                let rest = text.replacingOccurrences(of: "\r", with: "")
                let unisolated = try #require(
                    Self.unisolated(rest), "an isolate in an isolate, or one that doesn't end")
                #expect(SafeTextTests.offences(in: unisolated, lineFeeds: true) == [])
                #expect(Self.mostMarks(in: rest) <= SafeText.marksPerBase)
                stage.terminal.write(bytes)
                #expect(stage.terminal.notUnderstood == [])
                #expect(stage.terminal.everything.allSatisfy { DisplayWidth.of($0) <= columns })
            }
        }
    }

    // S-5
    @Test("no row can be taken for a line that is not its own", arguments: HostileTexts.all)
    func rows(_ row: HostileTexts.Row) {
        let (bob, other) = Self.labels(row.text)
        let mallory = Self.labels("Mallory").other
        let begins = Self.begins(other)
        for line in Self.lines(row.text, other, mallory) {
            // A line without a label begins with the name as it can be shown.
            let named = begins + [ChatLines.shown(row.text) + ": "]
            for columns in row.text.utf8.count > 4_096 ? [40] : [4, 10, 40, 80] {
                let rows = line.plainRows(columns: columns)
                #expect(rows.dropFirst().allSatisfy { $0.hasPrefix(columns < 8 ? " " : "  ") })
                for row in rows { #expect(row.reduce(0) { $0 + DisplayWidth.ofScalars($1) } <= columns) }
                if columns >= 40, let first = rows.first {
                    #expect(named.contains { (first + " ").hasPrefix($0) || $0.hasPrefix(first) }, "\(first)")
                }
            }
            let plain = line.plain.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(plain.dropFirst().allSatisfy { $0.hasPrefix("  ") })
            #expect(SafeTextTests.offences(in: line.plain, lineFeeds: true) == [])
        }
        #expect(bob.text != other.text && other.text != "You" && other.text != "Someone" && other.text != "Alice")
        #expect(!other.text.contains(":") && !Self.nfkc(other.text).contains(":"))
        #expect(!["*", "!", "-", ">", "~", " "].contains(String(Self.nfkc(other.text).prefix(1))))
        #expect(DisplayWidth.of(other.text) <= SafeText.nameColumns + 1 + 1 + Labels.suffixLength)
        if other.suffix.isEmpty { #expect(!other.text.contains("~")) }
    }

    @Test(
        "who looks like Bob never shows as just Bob",
        arguments: HostileTexts.all.filter { $0.name.hasPrefix("with a hidden") }
            + HostileTexts.all.filter {
                [
                    "Cyrillic o", "Cyrillic B", "Greek O", "fullwidth", "mathematical", "zero", "upper case",
                    "lower case", "with a blank", "with blank Braille", "with a soft hyphen", "with a joiner",
                    "superscript",
                ].contains($0.name)
            })
    func imitators(_ row: HostileTexts.Row) {
        let (bob, other) = Self.labels(row.text)
        #expect(bob.text == "Bob" && bob.marked == "Bob \u{2713}")
        #expect(other.suffix == "~mall" && !other.isVerified && !other.marked.contains("\u{2713}"))
    }

    @Test("a terminal that counts other columns begins no row in the middle of a message", arguments: [1, 2, 4])
    func otherWidths(factor: Int) {
        for row in HostileTexts.all where row.text.utf8.count < 2_000 {
            let lines = [ChatLines.message(from: Self.labels("Mallory").other, text: row.text)]
            var screen = Screen(columns: 40, rows: 50, decorated: true)
            var terminal = TinyTerminal(columns: 40, rows: 50) { max(DisplayWidth.ofScalars($0), 1) * factor }
            terminal.write(screen.draw(appending: lines, indicator: nil, prompt: "> ", editor: LineEditor()))
            #expect(terminal.wraps)
            for shown in terminal.everything.dropLast() where !shown.isEmpty {
                #expect(
                    shown.hasPrefix("M") || shown.hasPrefix("\u{2068}M") || shown.hasPrefix("  "),
                    "\(row.name): \(shown)")
            }
        }
    }
}
