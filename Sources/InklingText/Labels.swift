import InklingModel

/// What each person in a chat is called on the screen: the name as it was given, followed by a short piece of the
/// user ID only where the name alone could mislead.
///
/// A label has that suffix where two names look alike, where a known name has a different key, where the name
/// is the user's own or a word of the program, mixes Latin, Cyrillic and Greek, or can't be shown as sent. Once a
/// person has it, it stays as long as the name does: a label never gets shorter while you look at it.
public struct Labels: Sendable {
    /// How many characters of the user ID a suffix has, unless more are needed to tell two people apart.
    public static let suffixLength = 4

    /// What is known about somebody with a certain name and key.
    public enum Acquaintance: Hashable, Sendable {
        /// Nobody with that name was met before.
        case new
        /// This name was met with this key.
        case known
        /// This name was met with another key.
        case changedKey
    }

    /// Somebody who gets a label.
    public struct Person: Hashable, Sendable {
        /// The user ID, 16 characters.
        public var user: String
        /// The name as it was sent.
        public var name: String
        /// What is known about them besides the name.
        public var acquaintance: Acquaintance
        /// Whether the user has compared fingerprints with this person.
        public var isVerified: Bool

        /// Somebody with that identity and name.
        public init(user: String, name: String, acquaintance: Acquaintance = .new, isVerified: Bool = false) {
            self.user = user
            self.name = name
            self.acquaintance = acquaintance
            self.isVerified = isVerified
        }
    }

    /// A safe name and what distinguishes it from others. Only `Labels` makes labels.
    public struct Label: Hashable, Sendable {
        /// The user ID.
        public internal(set) var user: String
        /// The name, made safe: "Someone" where nothing of it can be shown.
        public internal(set) var name: String
        /// Empty, or such as `~mfrg`.
        public internal(set) var suffix: String

        /// What is shown.
        public var text: String { suffix.isEmpty ? name : name + " " + suffix }
    }

    /// Who a text names.
    public enum Match: Equatable, Sendable {
        /// The user ID of the only person it names.
        case one(String)
        /// Nobody has that name.
        case nobody
        /// The labels that tell them apart.
        case several([String])
    }

    private struct Entry {
        var person: Person
        var label: Label
        /// What two names have in common when they look alike.
        var likeness: String
        /// Whether the name needs its suffix whoever else is there.
        var isDoubtful: Bool
    }

    private var ownLikenesses: Set<String> = []
    private var entries: [String: Entry] = [:]
    /// The user IDs of those who look alike, sorted.
    private var alike: [String: [String]] = [:]

    /// No people yet; the user has that name.
    public init(ownName: String) { setOwnName(ownName) }

    /// The user's own name has changed.
    public mutating func setOwnName(_ name: String) {
        ownLikenesses = Set((Self.ownWords + [name]).map { likeness(of: SafeText.name($0) ?? "") })
        for person in entries.values.map(\.person).sorted(by: { $0.user < $1.user }) { update(person) }
    }

    /// Somebody became known in the chat, or changed. Returns those whose label has changed.
    @discardableResult
    public mutating func update(_ person: Person) -> [Label] {
        let old = entries[person.user]
        let name = Self.shown(person.name)
        let likeness = likeness(of: name ?? "")
        if let old, old.likeness != likeness { part(person.user, from: old.likeness) }
        let kept = old.flatMap { $0.person.name == person.name ? $0.label.suffix : nil } ?? ""
        entries[person.user] = Entry(
            person: person, label: Label(user: person.user, name: name ?? "Someone", suffix: kept), likeness: likeness,
            isDoubtful: isDoubtful(person, name: name, likeness: likeness))
        let index = insert(person.user, to: likeness)
        var changed = settle(likeness, around: index)
        if let label = entries[person.user]?.label, label != old?.label, !changed.contains(label) {
            changed.append(label)
        }
        return changed
    }

    /// Somebody is no longer known in the chat.
    public mutating func remove(_ user: String) {
        if let entry = entries.removeValue(forKey: user) { part(user, from: entry.likeness) }
    }

    /// What the person is called; somebody unknown is "Someone".
    public func label(of user: String) -> Label {
        entries[user]?.label ?? Label(user: user, name: "Someone", suffix: Self.suffix(of: user, Self.suffixLength))
    }

    /// All labels, in the order of their texts.
    public var all: [Label] {
        entries.values.map(\.label).sorted { ($0.text, $0.user) < ($1.text, $1.user) }
    }

    /// Finds who is meant: by the label, the name in any case, the user ID or a suffix, each with or without `@`.
    public func find(_ text: some StringProtocol) -> Match {
        var wanted = text[...]
        while wanted.first?.isWhitespace == true { wanted.removeFirst() }
        while wanted.last?.isWhitespace == true { wanted.removeLast() }
        if wanted.first == "@" { wanted.removeFirst() }
        guard !wanted.isEmpty else { return .nobody }
        let text = String(wanted)
        let labels = all
        if let exact = labels.first(where: { $0.text == text || $0.user == text }) {
            return .one(exact.user)
        }
        let folded = Self.folded(NormalForm.compatible(text))
        let found = labels.filter {
            Self.folded(NormalForm.compatible($0.text)) == folded
                || Self.folded(NormalForm.compatible($0.name)) == folded
                || $0.suffix == text
        }
        switch found.count {
        case 0: return .nobody
        case 1: return .one(found[0].user)
        default: return .several(found.map(\.text))
        }
    }

    /// The program speaks of its user, and of those it can't name, in these words.
    private static let ownWords = ["You", "Someone"]

    private mutating func part(_ user: String, from likeness: String) {
        guard let users = alike[likeness] else { return }
        let index = Self.place(of: user, in: users)
        if users.indices.contains(index), users[index] == user { alike[likeness]?.remove(at: index) }
        if alike[likeness]?.isEmpty == true { alike[likeness] = nil }
    }

    /// Returns where the user stands now among those who look alike.
    private mutating func insert(_ user: String, to likeness: String) -> Int {
        let users = alike[likeness] ?? []
        let index = Self.place(of: user, in: users)
        if !users.indices.contains(index) || users[index] != user {
            alike[likeness, default: []].insert(user, at: index)
        }
        return index
    }

    /// Where a user stands, or would stand, among sorted ones.
    private static func place(of user: String, in users: [String]) -> Int {
        var (low, high) = (0, users.count)
        while low < high {
            let middle = (low + high) / 2
            if users[middle] < user { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Gives one of those who look alike, and the neighbours, the suffixes they need, and returns whose label has
    /// changed. Whoever shares the longest beginning with a user is next to it in order, so nobody else is affected.
    private mutating func settle(_ likeness: String, around index: Int) -> [Label] {
        let users = alike[likeness] ?? []
        var changed: [Label] = []
        for index in max(index - 1, 0)..<min(index + 2, users.count) {
            let user = users[index]
            guard var entry = entries[user], users.count > 1 || entry.isDoubtful || !entry.label.suffix.isEmpty else {
                continue
            }
            let neighbours = [index - 1, index + 1].filter { users.indices.contains($0) }.map { users[$0] }
            let shared = neighbours.map { zip($0, user).prefix { $0 == $1 }.count }.max() ?? 0
            let length = max(Self.suffixLength, entry.label.suffix.count - 1, min(shared + 1, user.count))
            let suffix = Self.suffix(of: user, length)
            guard entry.label.suffix != suffix else { continue }
            entry.label.suffix = suffix
            entries[user] = entry
            changed.append(entry.label)
        }
        return changed
    }

    private static func suffix(of user: String, _ length: Int) -> String {
        "~" + user.prefix(length)
    }

    private func isDoubtful(_ person: Person, name: String?, likeness: String) -> Bool {
        guard let name else { return true }
        if person.acquaintance == .changedKey && !person.isVerified { return true }
        // What looks like a suffix, or was taken away so that the name can't pass for a line, is not left unsaid.
        if name.contains("~") || name != SafeText.name(person.name) { return true }
        return ownLikenesses.contains(likeness) || Self.mixesScripts(NormalForm.compatible(name))
    }

    /// The name as a label shows it: it can't begin like a notice, an error or a separator, and has no colon, which
    /// ends a name. `nil` if nothing to read is left.
    public static func shown(_ name: String) -> String? {
        guard let safe = SafeText.name(name) else { return nil }
        var scalars = safe.unicodeScalars[...]
        while let first = scalars.first, beginsLine(first) { scalars.removeFirst() }
        var result = String.UnicodeScalarView()
        for scalar in scalars { result.append(colons.contains(scalar) ? "." : scalar) }
        return SafeText.name(String(result))
    }

    private static let colons: Set<Unicode.Scalar> = [
        ":", "\u{2D0}", "\u{589}", "\u{5C3}", "\u{703}", "\u{704}", "\u{16EC}", "\u{1803}", "\u{1809}", "\u{205A}",
        "\u{2236}", "\u{2982}", "\u{2A74}", "\u{A4FD}", "\u{A789}", "\u{FE13}", "\u{FE30}", "\u{FE55}", "\u{FF1A}",
    ]
    private static let harmlessSigns: Set<Unicode.Scalar> = [
        "'", "\"", "#", "&", "@", ".", "\u{A1}", "\u{BF}", "\u{B7}", "\u{2022}", "\u{2026}",
    ]

    private static func beginsLine(_ scalar: Unicode.Scalar) -> Bool {
        if harmlessSigns.contains(scalar) { return false }
        switch scalar.properties.generalCategory {
        case .otherPunctuation, .dashPunctuation, .connectorPunctuation, .mathSymbol, .modifierSymbol, .spaceSeparator:
            return true
        case .otherLetter: return scalar == "\u{1C3}"
        case .otherSymbol:
            // Stars, and the pictures of signs. Other pictures are welcome in a name.
            return (0x2721...0x274B).contains(scalar.value) || (0x2753...0x2757).contains(scalar.value)
                || (0x2500...0x259F).contains(scalar.value) || (0x26A0...0x26A1).contains(scalar.value)
        default: return false
        }
    }

    private static func folded(_ text: String) -> String { text.uppercased().lowercased() }

    /// The name after NFKC and case folding, with letters and digits that look like a Latin one in its place.
    private func likeness(of name: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in NormalForm.compatible(Self.folded(NormalForm.compatible(name))).unicodeScalars {
            // The blank Braille cell is seen no more than a blank is.
            if scalar.properties.isWhitespace || scalar == "\u{2800}" { continue }
            if let likeness = Self.lookAlikes[scalar] {
                result.append(likeness)
            } else {
                result.append(scalar)
            }
        }
        // Two narrow letters side by side that are read as one.
        return String(result).replacing("rn", with: "m").replacing("vv", with: "w")
    }

    /// Lower-case letters and digits that can hardly be distinguished from the Latin letter, or whose capitals can't.
    private static let lookAlikes: [Unicode.Scalar: Unicode.Scalar] = {
        let rows: [(Unicode.Scalar, String)] = [
            ("a", "аαɑ"), ("b", "вβьЬ"), ("c", "сϲ"), ("d", "ԁ"), ("e", "еεєҽ"), ("f", "ϝ"), ("g", "ɡԍ"), ("h", "нηһ"),
            ("j", "јϳ"), ("k", "кκ"), ("l", "1i|іιӏıǀ"), ("m", "мμ"), ("n", "ν"), ("o", "0оοσօ"), ("p", "рρ"),
            ("q", "ԛգ"),
            ("s", "ѕ5"), ("t", "тτ"), ("u", "υս"), ("v", "ѵ"), ("w", "ѡωԝ"), ("x", "хχ"), ("y", "уγү"), ("z", "ζᴢ"),
        ]
        var table: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (latin, others) in rows { for other in others.unicodeScalars { table[other] = latin } }
        return table
    }()

    private static func mixesScripts(_ name: String) -> Bool {
        var scripts: Set<Script> = []
        for scalar in name.unicodeScalars where scalar.properties.isAlphabetic {
            if let script = Script(of: scalar) { scripts.insert(script) }
        }
        return scripts.count > 1
    }

    /// The scripts that share most of their shapes.
    private enum Script {
        case latin
        case greek
        case cyrillic

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x41...0x5A, 0x61...0x7A, 0xAA, 0xBA, 0xC0...0x24F, 0x250...0x2AF, 0x1D00...0x1D25, 0x1E00...0x1EFF,
                0x2C60...0x2C7F, 0xA722...0xA7FF, 0xAB30...0xAB64, 0xFF21...0xFF3A, 0xFF41...0xFF5A:
                self = .latin
            case 0x370...0x3FF, 0x1D26...0x1D2A, 0x1F00...0x1FFF: self = .greek
            case 0x400...0x52F, 0x1C80...0x1C8F, 0x1D2B, 0x2DE0...0x2DFF, 0xA640...0xA69F: self = .cyrillic
            default: return nil
            }
        }
    }
}
