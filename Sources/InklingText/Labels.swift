import InklingModel

/// What each person in a chat is called on the screen: the name as it was given, followed by a short piece of the
/// user ID only where the name alone could mislead, and by a mark if the person is verified.
///
/// What a reader recognises of a name is its letters and digits (`NameLikeness`): signs, blanks, case and the script
/// of a letter are not what tells people apart. A label has the suffix
///
/// - where names look alike: each of them, but not the only one that is verified;
/// - where one name is part of another, from word to word ("Bob" of "Bob's laptop", "Bob (verified)", "the real Bob"):
///   the longer name, so that "Bob" alone stays Bob; but if the longer one is verified and the shorter one is not, the
///   shorter one, and if both are verified, neither;
/// - where a known name has a different key, until it is verified;
/// - where the name is the user's own or a word of the program, or has it as a part;
/// - where the name has brackets, commas, quotes or signs such as stars and locks (``Label/marked``), more than 8 words, or a
///   word of 16 letters and digits or more, or mixes scripts that share their shapes;
/// - where the name can't be shown as sent: it begins like a line of the program, has a colon or a check mark, or has a
///   user ID in it, in whose place "..." is shown.
///
/// Two names of which neither is part of the other, as "Bob Smith" and "Bob Jones", don't affect each other.
///
/// Once a person has a suffix, it stays as long as the name does, whoever leaves: a label never gets shorter while you
/// look at it, unless you verify that person.
public struct Labels: Sendable {
    /// How many characters of the user ID a suffix has, unless more are needed to tell two people apart.
    public static let suffixLength = 4
    /// What follows the label of somebody verified. No name is shown with it, or with a sign that looks like it.
    public static let verifiedMark = "\u{2713}"

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
        /// Whether the user has compared fingerprints with this person.
        public internal(set) var isVerified = false

        /// Name and suffix: what the person is called in a command. ``Labels/find(_:)`` finds it.
        public var text: String { suffix.isEmpty ? name : name + " " + suffix }

        /// What is shown: the name, in quotes if it could be read as two, the suffix, and the mark of somebody verified.
        public var marked: String { marked(name) }

        /// The same with a shorter form of the name.
        func marked(_ name: String) -> String {
            var shown = name
            if NameSigns.canBeReadAsTwo(name) {
                shown = "\"" + String(name.map { $0 == "\"" ? "'" : $0 }) + "\""
            }
            if !suffix.isEmpty { shown += " " + suffix }
            return isVerified ? shown + " " + Labels.verifiedMark : shown
        }
    }

    /// Whom a text names; see ``Labels/find(_:)``.
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
        var likeness: NameLikeness
        /// Whether the name needs its suffix whoever else is there.
        var isDoubtful: Bool
    }

    /// Those whose names look alike, by their user IDs, sorted.
    private struct Alike {
        var users: [String] = []
        var verified: [String] = []
    }

    private var ownLikenesses: Set<String> = []
    private var entries: [String: Entry] = [:]
    /// By the likeness of whole names.
    private var alike: [String: Alike] = [:]
    /// Those who have no suffix, but need one as soon as somebody has a name that is part of theirs: by these parts.
    /// Whoever has got a suffix is no longer in it, so that a crowd is gone through once.
    private var unmarked: [String: Set<String>] = [:]
    /// How many verified people have a name with this part.
    private var verifiedParts: [String: Int] = [:]

    /// Labels for a chat in which nobody is known yet.
    ///
    /// - Parameter ownName: The name of the user, for which nobody else should be mistaken.
    public init(ownName: String) { setOwnName(ownName) }

    /// Takes a new name of the user's own. Labels of others may change with it.
    public mutating func setOwnName(_ name: String) {
        ownLikenesses = Set((Self.ownWords + [name]).map { NameLikeness(of: Self.shown($0) ?? "").whole })
        ownLikenesses.remove("")
        for person in entries.values.map(\.person).sorted(by: { $0.user < $1.user }) { enrol(person) }
    }

    /// Takes somebody who became known in the chat, or changed.
    ///
    /// - Returns: The labels that have changed, of this person and of others.
    @discardableResult
    public mutating func update(_ person: Person) -> [Label] {
        entries[person.user]?.person == person ? [] : enrol(person)
    }

    /// Forgets somebody, by user ID, who is no longer known in the chat.
    public mutating func remove(_ user: String) {
        if let entry = entries.removeValue(forKey: user) { withdraw(entry) }
    }

    /// Whether somebody is known in the chat, by user ID.
    public func contains(_ user: String) -> Bool { entries[user] != nil }

    /// What the person with that user ID is called; somebody unknown is "Someone".
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
        if wanted.hasSuffix(" " + Self.verifiedMark) { wanted.removeLast(2) }
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

    /// What the program calls its user and those it can't name, and what it says of people.
    private static let ownWords = [
        "You", "Someone", "Nobody", "Others", "Verified", "Muted", "Blocked", "Active now", "Away", "Last seen",
        "Delivered", "is typing", "are typing", "is here", "has left", "Inkling",
    ]

    /// Puts somebody, who may be known already, in their place among the others. Returns those whose label has changed.
    @discardableResult
    private mutating func enrol(_ person: Person) -> [Label] {
        let old = entries[person.user]
        if let old { withdraw(old) }
        let name = Self.shown(person.name) { entries[$0] != nil || $0 == person.user }
        let likeness = NameLikeness(of: name ?? "")
        let isSame = old?.person.name == person.name && old?.person.isVerified == person.isVerified
        let label = Label(
            user: person.user, name: name ?? "Someone", suffix: isSame ? old?.label.suffix ?? "" : "",
            isVerified: person.isVerified)
        entries[person.user] = Entry(
            person: person, label: label, likeness: likeness,
            isDoubtful: isDoubtful(person, name: name, likeness: likeness))
        let whole = likeness.whole
        let index = Self.insert(person.user, to: &alike[whole, default: Alike()].users)
        if person.isVerified {
            Self.insert(person.user, to: &alike[whole, default: Alike()].verified)
            for part in likeness.parts { verifiedParts[part, default: 0] += 1 }
        } else if label.suffix.isEmpty {
            for part in likeness.parts { unmarked[part, default: []].insert(person.user) }
        }
        var affected: [String] = []
        // Whoever shares the longest beginning with a user is next to it in order: nobody else needs a longer suffix.
        if let users = alike[whole]?.users { affected += users[max(index - 1, 0)..<min(index + 2, users.count)] }
        if person.isVerified {
            affected += alike[whole]?.verified ?? []
            // Of two or more who look alike each one has a suffix already, unless it is verified.
            for part in likeness.parts { if let users = alike[part]?.users, users.count == 1 { affected += users } }
        }
        affected += unmarked[whole] ?? []
        var changed: [Label] = []
        var settled: Set<String> = []
        for user in affected where settled.insert(user).inserted {
            if let label = settle(user), user != person.user { changed.append(label) }
        }
        if let label = entries[person.user]?.label, label != old?.label { changed.append(label) }
        return changed.sorted { $0.user < $1.user }
    }

    private mutating func withdraw(_ entry: Entry) {
        let user = entry.person.user
        if var same = alike[entry.likeness.whole] {
            Self.remove(user, from: &same.users)
            Self.remove(user, from: &same.verified)
            alike[entry.likeness.whole] = same.users.isEmpty ? nil : same
        }
        if entry.person.isVerified {
            for part in entry.likeness.parts {
                let rest = (verifiedParts[part] ?? 0) - 1
                verifiedParts[part] = rest > 0 ? rest : nil
            }
        } else {
            forget(entry)
        }
    }

    private mutating func forget(_ entry: Entry) {
        for part in entry.likeness.parts {
            unmarked[part]?.remove(entry.person.user)
            if unmarked[part]?.isEmpty == true { unmarked[part] = nil }
        }
    }

    /// Returns where the user is now among sorted ones.
    @discardableResult
    private static func insert(_ user: String, to users: inout [String]) -> Int {
        let index = place(of: user, in: users)
        users.insert(user, at: index)
        return index
    }

    private static func remove(_ user: String, from users: inout [String]) {
        let index = place(of: user, in: users)
        if users.indices.contains(index), users[index] == user { users.remove(at: index) }
    }

    /// Where a user is, or would be, among sorted ones.
    private static func place(of user: String, in users: [String]) -> Int {
        var (low, high) = (0, users.count)
        while low < high {
            let middle = (low + high) / 2
            if users[middle] < user { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Gives somebody the suffix they need, and returns the label if it has changed.
    private mutating func settle(_ user: String) -> Label? {
        guard var entry = entries[user], let same = alike[entry.likeness.whole], needsSuffix(entry, same) else {
            return nil
        }
        if entry.label.suffix.isEmpty && !entry.person.isVerified { forget(entry) }
        let index = Self.place(of: user, in: same.users)
        let neighbours = [index - 1, index + 1].filter { same.users.indices.contains($0) }.map { same.users[$0] }
        let shared = neighbours.map { zip($0, user).prefix { $0 == $1 }.count }.max() ?? 0
        let length = max(Self.suffixLength, entry.label.suffix.count - 1, min(shared + 1, user.count))
        let suffix = Self.suffix(of: user, length)
        guard entry.label.suffix != suffix else { return nil }
        entry.label.suffix = suffix
        entries[user] = entry
        return entry.label
    }

    private func needsSuffix(_ entry: Entry, _ same: Alike) -> Bool {
        if entry.isDoubtful || !entry.label.suffix.isEmpty { return true }
        if entry.person.isVerified { return same.verified.count > 1 }
        return same.users.count > 1 || verifiedParts[entry.likeness.whole] != nil
            || entry.likeness.parts.contains { alike[$0] != nil }
    }

    private static func suffix(of user: String, _ length: Int) -> String {
        "~" + user.prefix(length)
    }

    private func isDoubtful(_ person: Person, name: String?, likeness: NameLikeness) -> Bool {
        guard let name else { return true }
        if person.acquaintance == .changedKey && !person.isVerified { return true }
        // What looks like a suffix, or was taken away so that the name can't pass for something else, is not left unsaid.
        if name.contains("~") || name != SafeText.name(person.name) { return true }
        if ownLikenesses.contains(likeness.whole) { return true }
        if !person.isVerified, likeness.parts.contains(where: ownLikenesses.contains) { return true }
        return likeness.isLong || NameSigns.areIn(name) || UserIDsInNames.hasLongCode(name)
            || UserIDsInNames.isSpelled(in: name) { entries[$0] != nil || $0 == person.user }
            || Self.mixesScripts(NormalForm.compatible(name))
    }

    /// The name as a label shows it: it can't begin like a notice, an error or a separator, and has no colon, which
    /// ends a name, no check mark, and no user ID. `nil` if nothing to read is left.
    public static func shown(_ name: String) -> String? { shown(name) { _ in false } }

    private static func shown(_ name: String, isKnown: (String) -> Bool) -> String? {
        guard let safe = SafeText.name(name) else { return nil }
        let readable = UserIDsInNames.removed(from: safe, isKnown: isKnown) ?? safe
        var scalars = readable.unicodeScalars[...]
        while let first = scalars.first, beginsLine(first) { scalars.removeFirst() }
        var result = String.UnicodeScalarView()
        for scalar in scalars where !NameSigns.isCheckMark(scalar) {
            result.append(colons.contains(scalar) ? "." : scalar)
        }
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

    private static func mixesScripts(_ name: String) -> Bool {
        var scripts: Set<Script> = []
        for scalar in name.unicodeScalars where scalar.properties.isAlphabetic {
            if let script = Script(of: scalar) { scripts.insert(script) }
        }
        return scripts.count > 1
    }

    /// The scripts that share most of their shapes.
    private enum Script {
        case latin, greek, cyrillic, armenian, cherokee, lisu, coptic

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x41...0x5A, 0x61...0x7A, 0xAA, 0xBA, 0xC0...0x24F, 0x250...0x2AF, 0x1D00...0x1D25, 0x1E00...0x1EFF,
                0x2C60...0x2C7F, 0xA722...0xA7FF, 0xAB30...0xAB64, 0xFF21...0xFF3A, 0xFF41...0xFF5A:
                self = .latin
            case 0x370...0x3FF, 0x1D26...0x1D2A, 0x1F00...0x1FFF: self = .greek
            case 0x400...0x52F, 0x1C80...0x1C8F, 0x1D2B, 0x2DE0...0x2DFF, 0xA640...0xA69F: self = .cyrillic
            case 0x530...0x58F: self = .armenian
            case 0x13A0...0x13FF, 0xAB70...0xABBF: self = .cherokee
            case 0xA4D0...0xA4FF, 0x11FB0: self = .lisu
            case 0x2C80...0x2CFF: self = .coptic
            default: return nil
            }
        }
    }
}
