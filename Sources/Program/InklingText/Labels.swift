#if !IN_ONE_MODULE
    import InklingModel
#endif

/// The label of each person in a chat: the name and, where the name alone could mislead, a short piece of the user ID.
/// A mark follows the name of a verified person.
///
/// Labels compare names only by letters and digits (`NameLikeness`), without signs, blanks, case and script. A label
/// has a suffix
///
/// - if the name looks like another one: both get a suffix, except a person who is the only verified one;
/// - if one name consists of whole words of another, as "Bob" of "Bob's laptop" or "the real Bob". The longer name gets
///   the suffix. If only the longer one is verified, the shorter one gets it. If both are verified, neither gets it;
/// - if a known name has a different key, until the user verifies the person;
/// - if the name is, or contains, the user's own name or a word of the program;
/// - if the name has brackets, commas, quotes or signs such as stars and locks (``Label/marked``);
/// - if the name has more than 8 words, a code of 16 letters and digits, or a word that mixes scripts of similar
///   shapes;
/// - if the shown name differs from the sent one (``Labels/shown(_:)``).
///
/// Two names such as "Bob Smith" and "Bob Jones" don't affect each other, because neither is part of the other.
///
/// A person with a suffix keeps it as long as the name, even after others leave. So an impostor never gets the label of
/// a person who has just left. The suffix ends when the user verifies the person, or when the people whose names
/// required it change their names.
public struct Labels: Sendable {
    /// The number of characters of the user ID in a suffix. If two people still share it, the suffix is longer.
    public static let suffixLength = 4
    /// The number of a person's earlier labels that ``find(_:)`` still understands.
    private static let formerLabels = 16
    /// The most people who lose their suffixes when the last person with a part of their names changes that name. If
    /// there are more, all keep theirs, so that a crowd causes no repeated work.
    private static let loosened = 16
    /// The mark after the label of a verified person. Shown names never contain this mark or a sign that looks like it.
    public static let verifiedMark = "\u{2713}"

    /// The comparison of a person's name and key with earlier people.
    public enum Acquaintance: Hashable, Sendable {
        /// No person with that name was met before.
        case new
        /// A person with this name and this key was met before.
        case known
        /// A person with this name and another key was met before.
        case changedKey
    }

    /// A person who gets a label.
    public struct Person: Hashable, Sendable {
        /// The user ID, 16 characters.
        public var user: String
        /// The name as it was sent.
        public var name: String
        /// The comparison of the name and the key with earlier people.
        public var acquaintance: Acquaintance
        /// Whether the user has verified this person by comparing fingerprints.
        public var isVerified: Bool

        /// A person with that identity and name.
        public init(user: String, name: String, acquaintance: Acquaintance = .new, isVerified: Bool = false) {
            self.user = user
            self.name = name
            self.acquaintance = acquaintance
            self.isVerified = isVerified
        }
    }

    /// A safe name, and a suffix that distinguishes it from others. Only `Labels` makes labels.
    public struct Label: Hashable, Sendable {
        /// The user ID of the person.
        public internal(set) var user: String
        /// The name, made safe; "Someone" if nothing of it can be shown.
        public internal(set) var name: String
        /// The suffix, such as `~mfrg`, or empty.
        public internal(set) var suffix: String
        /// Whether the user has verified this person by comparing fingerprints.
        public internal(set) var isVerified = false

        /// The name and the suffix, the form in which a command names the person. ``Labels/find(_:)`` finds it.
        public var text: String { suffix.isEmpty ? name : name + " " + suffix }

        /// The label as shown: the name, the suffix, and the mark of a verified person. The name is in quotes if
        /// readers could take it for two.
        public var marked: String { marked(name) }

        /// Returns the shown label with a shorter form of the name.
        func marked(_ name: String) -> String {
            var shown = name
            if NameSigns.canBeReadAsTwo(name) {
                shown = "\"" + String(name.map { $0 == "\"" ? "'" : $0 }) + "\""
            }
            if !suffix.isEmpty { shown += " " + suffix }
            return isVerified ? shown + " " + Labels.verifiedMark : shown
        }
    }

    /// The result of ``Labels/find(_:)``.
    public enum Match: Equatable, Sendable {
        /// The text means exactly one person, with this user ID.
        case one(String)
        /// The text means no person.
        case nobody
        /// The text means several people, with these labels to tell them apart.
        case several([String])
    }

    private struct Entry {
        var person: Person
        var label: Label
        var likeness: NameLikeness
        /// Whether the name needs its suffix even when no other person is present.
        var isDoubtful: Bool
        /// The case-folded texts of the person's earlier labels, the latest last.
        var former: [String] = []

        mutating func relabel(_ label: Label) {
            let text = Labels.folded(NormalForm.compatible(self.label.text))
            if label.text != self.label.text, !former.contains(text) { former.append(text) }
            if former.count > Labels.formerLabels { former.removeFirst() }
            self.label = label
        }
    }

    /// The people whose names look alike, by their user IDs, sorted.
    private struct Alike {
        var users: [String] = []
        var verified: [String] = []
    }

    private var ownLikenesses: Set<String> = []
    private var entries: [String: Entry] = [:]
    /// The people with similar names, by the keys of the likenesses of whole names.
    private var alike: [String: Alike] = [:]
    /// Unverified people without a suffix, by the parts of their names. Such a person needs a suffix when another
    /// person's name equals one of these parts.
    private var unmarked: [String: Set<String>] = [:]
    /// Unverified people with a suffix, by the parts of their names.
    private var marked: [String: Set<String>] = [:]
    /// The number of verified people who have a name with this part.
    private var verifiedParts: [String: Int] = [:]

    /// Labels for a chat without any person yet.
    ///
    /// - Parameter ownName: The name of the user. Others with a similar name get a suffix.
    public init(ownName: String) { setOwnName(ownName) }

    /// Sets the user's own name. Labels of others may change with it.
    public mutating func setOwnName(_ name: String) {
        ownLikenesses = Self.wordLikenesses.union(Self.likenesses(of: name))
        ownLikenesses.remove("")
        let people = entries.values.map { $0.person }.sorted { $0.user < $1.user }
        for person in people { enrol(person) }
        for person in people { loosen(person.user) }
    }

    /// Adds or updates a person of the chat.
    ///
    /// - Returns: The labels that have changed, of this person and of others.
    @discardableResult
    public mutating func update(_ person: Person) -> [Label] {
        entries[person.user]?.person == person ? [] : enrol(person)
    }

    /// Removes a person, by user ID.
    public mutating func remove(_ user: String) {
        if let entry = entries.removeValue(forKey: user) { withdraw(entry) }
    }

    /// Returns whether a person is known in the chat, by user ID.
    public func contains(_ user: String) -> Bool { entries[user] != nil }

    /// Returns the label of the person with a user ID; "Someone" for an unknown one.
    public func label(of user: String) -> Label {
        entries[user]?.label ?? Label(user: user, name: "Someone", suffix: Self.suffix(of: user, Self.suffixLength))
    }

    /// All labels, in the order of their texts.
    public var all: [Label] {
        entries.values.map { $0.label }.sorted { ($0.text, $0.user) < ($1.text, $1.user) }
    }

    /// Finds a person by label, name in any case, user ID or suffix, each with or without `@`. Earlier labels are
    /// searched only if no current one matches.
    public func find(_ text: some StringProtocol) -> Match {
        var wanted = NameIsolation.removed(from: String(text))[...]
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
        var found = labels.filter {
            Self.folded(NormalForm.compatible($0.text)) == folded
                || Self.folded(NormalForm.compatible($0.name)) == folded
                || $0.suffix == text
        }
        if found.isEmpty { found = labels.filter { entries[$0.user]?.former.contains(folded) == true } }
        switch found.count {
        case 0: return .nobody
        case 1: return .one(found[0].user)
        default: return .several(found.map { $0.text })
        }
    }

    /// The words by which the program names its user, unnamed people, and the states of people.
    package static let ownWords = [
        "You", "Someone", "Nobody", "Others", "Verified", "Muted", "Blocked", "Active now", "Away", "Last seen",
        "Delivered", "is typing", "are typing", "is here", "has left", "Inkling",
    ]

    private static let wordLikenesses = Set(ownWords.flatMap(likenesses))

    private static func likenesses(of name: String) -> [String] {
        NameLikeness(of: shown(name) ?? "", withParts: false).keys
    }

    /// Adds or updates a person. Returns the people's labels that have changed.
    @discardableResult
    private mutating func enrol(_ person: Person) -> [Label] {
        let old = entries[person.user]
        var released: [String] = []
        if let old {
            withdraw(old)
            if old.person.name != person.name || old.person.isVerified != person.isVerified {
                released = compared(with: old)
            }
        }
        let name = Self.shown(person.name) { entries[$0] != nil || $0 == person.user }
        let likeness = NameLikeness(of: name ?? "")
        let isSame = old?.person.name == person.name && old?.person.isVerified == person.isVerified
        let label = Label(
            user: person.user, name: name ?? "Someone", suffix: isSame ? old?.label.suffix ?? "" : "",
            isVerified: person.isVerified)
        var entry = Entry(
            person: person, label: old?.label ?? label, likeness: likeness,
            isDoubtful: isDoubtful(person, name: name, likeness: likeness), former: old?.former ?? [])
        entry.relabel(label)
        entries[person.user] = entry
        for key in likeness.keys {
            Self.insert(person.user, to: &alike[key, default: Alike()].users)
            if person.isVerified { Self.insert(person.user, to: &alike[key, default: Alike()].verified) }
        }
        if person.isVerified {
            for part in likeness.parts { verifiedParts[part, default: 0] += 1 }
        } else {
            index(entry)
        }
        var affected: [String] = []
        // In the sorted order, the user ID with the longest common prefix is next to `user`. So no other needs a longer
        // suffix.
        for key in likeness.keys {
            if let users = alike[key]?.users { affected += Self.neighbours(of: person.user, in: users) }
            if person.isVerified { affected += alike[key]?.verified ?? [] }
            affected += unmarked[key] ?? []
        }
        affected.append(person.user)
        if person.isVerified {
            // If two or more names are similar, each unverified one has a suffix already.
            for part in likeness.parts { if let users = alike[part]?.users, users.count == 1 { affected += users } }
        }
        var changed: [Label] = []
        var settled: Set<String> = []
        for user in affected where settled.insert(user).inserted {
            if let label = settle(user), user != person.user { changed.append(label) }
        }
        if let label = entries[person.user]?.label, label != old?.label { changed.append(label) }
        for user in released where user != person.user {
            guard let label = loosen(user) else { continue }
            changed.removeAll { $0.user == user }
            changed.append(label)
        }
        return changed.sorted { $0.user < $1.user }
    }

    private mutating func withdraw(_ entry: Entry) {
        let user = entry.person.user
        for key in entry.likeness.keys {
            Self.remove(user, from: &alike[key, default: Alike()].users)
            Self.remove(user, from: &alike[key, default: Alike()].verified)
            if alike[key]?.users.isEmpty == true { alike[key] = nil }
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

    /// Adds an unverified person to the people with the parts of the name.
    private mutating func index(_ entry: Entry) {
        for part in entry.likeness.parts {
            if entry.label.suffix.isEmpty {
                unmarked[part, default: []].insert(entry.person.user)
            } else {
                marked[part, default: []].insert(entry.person.user)
            }
        }
    }

    private mutating func forget(_ entry: Entry) {
        for part in entry.likeness.parts {
            unmarked[part]?.remove(entry.person.user)
            if unmarked[part]?.isEmpty == true { unmarked[part] = nil }
            marked[part]?.remove(entry.person.user)
            if marked[part]?.isEmpty == true { marked[part] = nil }
        }
    }

    /// Returns the people whose suffixes may have been needed only because of the person just withdrawn.
    private func compared(with old: Entry) -> [String] {
        var users: [String] = []
        for key in old.likeness.keys {
            if let alike = alike[key] {
                if alike.users.count == 1 { users += alike.users }
                if alike.verified.count == 1 { users += alike.verified }
            } else if let parts = marked[key], parts.count <= Self.loosened {
                users += parts.sorted()
            }
        }
        if old.person.isVerified {
            for part in old.likeness.parts {
                if let shorter = alike[part]?.users, shorter.count == 1 { users += shorter }
            }
        }
        return users
    }

    /// Removes a suffix that a person no longer needs. Returns the label if it has changed.
    @discardableResult
    private mutating func loosen(_ user: String) -> Label? {
        guard var entry = entries[user], !entry.label.suffix.isEmpty, !needsSuffix(entry) else { return nil }
        if !entry.person.isVerified { forget(entry) }
        relabel(&entry, suffix: "")
        return entry.label
    }

    private mutating func relabel(_ entry: inout Entry, suffix: String) {
        var label = entry.label
        label.suffix = suffix
        entry.relabel(label)
        entries[entry.person.user] = entry
        if !entry.person.isVerified { index(entry) }
    }

    /// Adds the suffix that a person needs. Returns the label if it has changed.
    private mutating func settle(_ user: String) -> Label? {
        guard var entry = entries[user], !entry.label.suffix.isEmpty || needsSuffix(entry) else { return nil }
        let neighbours = entry.likeness.keys.flatMap { Self.neighbours(of: user, in: alike[$0]?.users ?? []) }
        let shared = neighbours.map { zip($0, user).prefix { $0 == $1 }.count }.max() ?? 0
        let length = max(Self.suffixLength, entry.label.suffix.count - 1, min(shared + 1, user.count))
        let suffix = Self.suffix(of: user, length)
        guard entry.label.suffix != suffix else { return nil }
        if !entry.person.isVerified { forget(entry) }
        relabel(&entry, suffix: suffix)
        return entry.label
    }

    private func needsSuffix(_ entry: Entry) -> Bool {
        if entry.isDoubtful { return true }
        let keys = entry.likeness.keys
        if entry.person.isVerified { return keys.contains { alike[$0]?.verified.count ?? 0 > 1 } }
        return keys.contains { alike[$0]?.users.count ?? 0 > 1 || verifiedParts[$0] != nil }
            || entry.likeness.parts.contains { alike[$0] != nil }
    }

    /// Returns whether two names are so alike that both people get a suffix.
    package static func areAlike(_ one: String, _ other: String) -> Bool {
        let keys = NameLikeness(of: shown(one) ?? "", withParts: false).keys
        return keys != [""] && !Set(keys).isDisjoint(with: NameLikeness(of: shown(other) ?? "", withParts: false).keys)
    }

    /// Returns a name with the suffix that it usually gets.
    package static func suffixed(_ name: String, user: String) -> String {
        "\(shown(name) ?? "Someone") \(suffix(of: user, suffixLength))"
    }

    private static func suffix(of user: String, _ length: Int) -> String {
        "~" + user.prefix(length)
    }

    private func isDoubtful(_ person: Person, name: String?, likeness: NameLikeness) -> Bool {
        guard let name else { return true }
        if person.acquaintance == .changedKey && !person.isVerified { return true }
        // Readers must see that the shown name differs from the sent one, or that the name contains a suffix of its
        // own.
        if name.contains("~") || name != SafeText.name(person.name) { return true }
        if likeness.keys.contains(where: ownLikenesses.contains) { return true }
        if !person.isVerified, likeness.parts.contains(where: ownLikenesses.contains) { return true }
        return likeness.isLong || NameSigns.areIn(name) || UserIDsInNames.hasLongCode(name)
            || UserIDsInNames.isSpelled(in: name) { entries[$0] != nil || $0 == person.user }
            || NameScripts.areMixed(in: name)
    }

    private static func folded(_ text: String) -> String { text.uppercased().lowercased() }
}

/// The form of a name in a label.
extension Labels {
    /// Returns the name in the form for a label, or nil if no readable character is left. A shown name has no colon,
    /// which would end a name. It also has no check mark, no shield and no user ID. Its beginning differs from those of notices,
    /// errors and separators.
    public static func shown(_ name: String) -> String? { shown(name) { _ in false } }

    static func shown(_ name: String, isKnown: (String) -> Bool) -> String? {
        // Most names are short and plain. Nothing below changes them.
        if name.utf8.count < UserIDsInNames.length, SafeText.isWords(name) { return name }
        guard let safe = SafeText.name(name) else { return nil }
        let readable = UserIDsInNames.removed(from: safe, isKnown: isKnown) ?? safe
        var scalars = readable.unicodeScalars[...]
        while let first = scalars.first, beginsLine(first) { scalars.removeFirst() }
        var result = String.UnicodeScalarView()
        for scalar in scalars where !NameSigns.isMark(scalar) {
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
            // These are stars, and pictures of signs. Names may have other pictures.
            return (0x2721...0x274B).contains(scalar.value) || (0x2753...0x2757).contains(scalar.value)
                || (0x2500...0x259F).contains(scalar.value) || (0x26A0...0x26A1).contains(scalar.value)
        default: return false
        }
    }
}

/// Sorted lists of users without duplicates.
extension Labels {
    static func insert(_ user: String, to users: inout [String]) {
        users.insert(user, at: place(of: user, in: users))
    }

    /// Returns the users directly before and after a user in a sorted list.
    static func neighbours(of user: String, in users: [String]) -> [String] {
        let index = place(of: user, in: users)
        return [index - 1, index + 1].filter(users.indices.contains).map { users[$0] }
    }

    static func remove(_ user: String, from users: inout [String]) {
        let index = place(of: user, in: users)
        if users.indices.contains(index), users[index] == user { users.remove(at: index) }
    }

    /// Returns the index of a user in a sorted list, or the index at which to insert the user.
    static func place(of user: String, in users: [String]) -> Int {
        var (low, high) = (0, users.count)
        while low < high {
            let middle = (low + high) / 2
            if users[middle] < user { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
