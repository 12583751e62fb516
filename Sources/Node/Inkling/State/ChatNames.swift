import FoundationEssentials
import InklingModel
import InklingWire

/// The names that the chats of one state directory have had.
package struct ChatNames: Equatable, Sendable {
    /// The most names of private chats. No name is ever dropped.
    package static let privateLimit = 1_024
    /// The most names of open chats. Beyond it, the oldest is dropped.
    package static let openLimit = 256

    /// A name on disk. Its content is its place in the order of first uses.
    struct Record {
        let key: StateTables.Key
        let content: [UInt8]
    }

    /// The names of private chats, in the order of their first use.
    package private(set) var privateNames: [String] = []
    /// The names of open chats, the latest last.
    package private(set) var openNames: [String] = []
    private var places: [StateTables.Key: UInt64] = [:]
    private var last: UInt64 = 0

    package init() {}

    package func contains(_ name: String, isOpen: Bool) -> Bool { places[Self.key(name, isOpen)] != nil }

    /// Adds a name that the list does not have.
    ///
    /// - Returns: The open chat's name that the list drops; nil for none.
    @discardableResult
    package mutating func add(_ name: String, isOpen: Bool, place: UInt64? = nil) -> String? {
        guard !contains(name, isOpen: isOpen) else { return nil }
        last = max(last, place ?? last + 1)
        places[Self.key(name, isOpen)] = place ?? last
        guard isOpen else {
            privateNames.append(name)
            return nil
        }
        openNames.append(name)
        guard openNames.count > Self.openLimit else { return nil }
        let oldest = openNames.removeFirst()
        places[Self.key(oldest, true)] = nil
        return oldest
    }

    /// Adds the names of those of the chats that are private.
    ///
    /// - Returns: The records of the names that the list did not have.
    mutating func add(_ chats: KeptChats) -> [Record] {
        let new = chats.chats.filter { !$0.isOpen && !contains($0.name, isOpen: false) }.map(\.name)
        for name in new { add(name, isOpen: false) }
        return new.compactMap { record($0, isOpen: false) }
    }

    static func key(_ name: String, _ isOpen: Bool) -> StateTables.Key {
        StateTables.Key(isOpen ? .openName : .privateName, Array(name.utf8))
    }

    var all: [Record] { places.map { Record(key: $0, content: $1.bigEndianBytes) } }

    func record(_ name: String, isOpen: Bool) -> Record? {
        let key = Self.key(name, isOpen)
        return places[key].map { Record(key: key, content: $0.bigEndianBytes) }
    }

    private struct EarlierFile: Decodable {
        let version: Int
        let `private`, open: [String]
    }

    /// Reads the file of an earlier build; nil if it is damaged.
    init?(earlier bytes: [UInt8]) {
        guard let file = try? JSONDecoder().decode(EarlierFile.self, from: Data(bytes)), file.version == 1,
            (file.private + file.open).allSatisfy({ (1...64).contains($0.utf8.count) })
        else { return nil }
        self.init()
        for name in file.private { add(name, isOpen: false) }
        for name in file.open { add(name, isOpen: true) }
    }

    /// Returns the first of the names that a reader could confuse with a name; nil if there is none.
    package static func alike(_ name: String, in names: [String]) -> String? {
        if names.contains(name) { return name }
        let likeness = NameLikeness(of: name, withParts: false)
        return names.first { other in
            let others = NameLikeness(of: other, withParts: false)
            // A name without letters and digits is like another if only blanks and invisible scalars differ.
            if likeness.whole.isEmpty, others.whole.isEmpty { return signs(of: name) == signs(of: other) }
            return likeness.whole == others.whole || likeness.isAlike(others)
        }
    }

    private static func signs(of name: String) -> [Unicode.Scalar] {
        NormalForm.compatible(name).unicodeScalars.filter {
            !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
        }
    }
}
