import FoundationEssentials
import InklingWire

/// The texts and the vectors in `Protocol/`, which the suite reads from the source tree that it was built from.
package enum Specification {
    package static let folder = {
        let tree = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(5)
        return tree.joined(separator: "/") + "/Protocol"
    }()

    /// Whether the folder is there. Without it, the suite has neither clauses nor vectors.
    package static var isPresent: Bool { FileManager.default.isReadableFile(atPath: folder + "/wire.md") }

    /// The names of the files of vectors, such as `frames`.
    static let vectorFiles = [
        "datagrams", "derivations", "epochs", "frames", "handshake", "links", "replay", "sealed", "timelines",
    ]

    /// The contents of the files of vectors by their names.
    static let vectors = Dictionary(
        uniqueKeysWithValues: vectorFiles.map { name in
            guard let value = try? JSONDecoder().decode(JSONValue.self, from: read("vectors/\(name).json")) else {
                preconditionFailure("\(name).json is not valid JSON")
            }
            return (name, value)
        })

    /// Returns the lines of a text such as `wire`.
    static func lines(of text: String) -> [Substring] {
        String(decoding: read("\(text).md"), as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    private static func read(_ name: String) -> Data {
        guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
            preconditionFailure("can't read \(folder)/\(name)")
        }
        return bytes
    }
}

/// A numbered rule of the specification.
package struct Clause: Sendable, Equatable {
    package enum Level: String, Sendable {
        case must = "MUST"
        case should = "SHOULD"
    }

    /// The number of the clause, such as `W-14`.
    package let number: String
    package let level: Level
    /// The whole text, without the number. List items and rows of a table in it have separate lines.
    package let text: String

    /// The letters of clauses, in the order of the texts.
    private static let letters: [Substring] = ["W", "L", "T", "M", "D", "S", "X", "J", "A"]

    /// Returns the sort key of a clause's number: first the letter in the order of the texts, then the number.
    static func place(of number: String) -> (letter: Int, number: Int) {
        let parts = number.split(separator: "-")
        return (letters.firstIndex(of: parts[0]) ?? letters.count, parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    }

    package static func isOrdered(_ left: String, _ right: String) -> Bool { place(of: left) < place(of: right) }

    /// The clauses in the order of their texts.
    static let listed = [
        "wire", "links", "typing", "messages", "discovery", "protection", "security", "registry", "api", "daemon",
    ].flatMap { ClauseReader.clauses(of: Specification.lines(of: $0)) }

    /// All clauses by number.
    package static let all: [String: Clause] = Dictionary(uniqueKeysWithValues: listed.map { ($0.number, $0) })
}

/// Reads the numbered rules of a text in `Protocol/`. A rule is the whole list item, with its lists and paragraphs. If
/// the item names "the table below", the rule includes the rows of the next table.
struct ClauseReader {
    private var clauses: [(number: String, text: String)] = []
    /// Whether the next line can belong to the last clause.
    private var isOpen = false
    /// The indices of clauses whose table comes next, or is being read.
    private var awaitingTable: [Int] = []
    private var isFenced = false
    private var isInTable = false
    /// Whether a blank line comes before this one.
    private var isApart = false

    static func clauses(of lines: [Substring]) -> [Clause] {
        var reader = ClauseReader()
        for line in lines { reader.read(line) }
        reader.close()
        return reader.clauses.map { number, text in
            let words = text.split { !($0.isASCII && $0.isLetter) }
            return Clause(number: number, level: words.contains("MUST") ? .must : .should, text: text)
        }
    }

    private mutating func read(_ line: Substring) {
        let text = line.drop { $0 == " " }
        let isFence = text.hasPrefix("```")
        let isRow = line.hasPrefix("|")
        if isFence || isRow { close() }
        if isFence { isFenced.toggle() }
        if isFenced || isFence { return }
        if isRow {
            isInTable = true
            guard !line.allSatisfy({ "| :-".contains($0) }) else { return }
            for index in awaitingTable { clauses[index].text += "\n" + line }
            return
        }
        if isInTable {
            isInTable = false
            awaitingTable = []
        }
        guard !text.isEmpty else {
            isApart = true
            return
        }
        let isItem = Self.isItem(text)
        if isOpen, line.hasPrefix("#") || text.count == line.count && (isItem || isApart) { close() }
        if let (number, rest) = Self.beginning(of: line) {
            clauses.append((number, rest))
            isOpen = true
        } else if isOpen {
            clauses[clauses.count - 1].text += (isItem || isApart ? "\n" : " ") + text
        }
        isApart = false
    }

    private mutating func close() {
        if isOpen, clauses.last?.text.contains("the table below") == true { awaitingTable.append(clauses.count - 1) }
        isOpen = false
    }

    /// Returns whether a line begins an item of a list, such as `- ` or `1. `.
    private static func isItem(_ text: Substring) -> Bool {
        let rest = text.drop(while: \.isWholeNumber)
        let mark = rest.first
        let isMark = rest.count == text.count ? mark == "-" || mark == "*" || mark == "+" : mark == "."
        return isMark && rest.dropFirst().first == " "
    }

    /// Returns the number of the clause that begins with `- [W-3] `, and the words behind it.
    private static func beginning(of line: Substring) -> (number: String, rest: String)? {
        guard line.hasPrefix("- ["), let end = line.firstIndex(of: "]") else { return nil }
        let number = line[..<end].dropFirst(3)
        let parts = number.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].allSatisfy({ ("A"..."Z").contains($0) }),
            Int(parts[1]) != nil, line[end...].hasPrefix("] ")
        else { return nil }
        return (String(number), String(line[end...].dropFirst(2)))
    }
}

extension Clause {
    private static let socket =
        "the suite drives a program by its standard streams, and attaches to no socket"

    /// The clauses that no case can check from outside, and the reasons.
    static let unseen: [String: String] = [
        "L-29": "a vanished service and a goodbye need a discovery daemon; an ICMP error need not reach a UDP socket",
        "L-37": "a session is replaced after 60 minutes",
        "L-40": "the addresses of the machine would have to change",
        "L-56": "the suite does not look at the headers of IP",
        "L-79": "a counter reaches 2^32 - 3 after four thousand million datagrams",
        "M-94": "a peer of the suite can't have the program's private key",
        "M-82": socket,
        "M-83": socket,
        "M-84": socket,
        "M-85": socket,
        "M-86": socket,
        "M-96": socket,
        "M-101": socket,
        "A-68": socket,
        "T-25": "the time of day of the machine would have to be set",
        "D-8": "a daemon publishes the addresses of its own machine alone, so none that is off-link can be advertised",
        "D-10": "how many resolves are under way is seen by the program and its daemon alone",
        "D-15": "the machine would need an interface that the user left out",
        "D-16": "all that reaches a machine on loopback comes from an address of its own, which is on-link",
        "D-18": "the look-ups of a program are seen by its resolver alone",
        "D-19": "the instances of others must hide the address, and the user know the peer",
        "D-20": "a daemon renames the registrations of other machines alone",
        "D-23": "what a node remembers of people is seen after days, and when forged instances hide their address",
        "D-26": "it takes hundreds of instances at more than 64 addresses",
        "D-27": "the daemon would have to fail",
        "S-5":
            "showing names and texts safely is up to the reader of the JSON lines, which give them as they came (J-8)",
        "X-4": "no argument tells a program that it is under test",
        "X-5": "no argument tells a program that it is under test",
        "J-14": "the suite reads whatever a program writes at once",
        "A-11": socket,
        "A-12": socket,
        "A-13": socket,
        "A-14": socket,
        "A-15": socket,
        "A-16": socket,
        "A-17": socket,
        "A-18": socket,
        "A-19": socket,
        "A-20": socket,
        "A-21": socket,
        "A-22": socket,
        "A-23": socket,
        "A-24": socket,
        "A-25": socket,
        "A-26": socket,
        "A-27": socket,
        "A-28": socket,
        "A-29": socket,
        "A-30": socket,
        "A-32": socket,
        "A-33": socket,
        "A-34": socket,
        "A-37": socket,
        "A-50": socket,
        "A-51": socket,
        "A-52": socket,
        "A-53": socket,
        "A-54": socket,
        "A-60": socket,
        "A-61": socket,
        "A-62": socket,
        "A-63": socket,
        "A-64": socket,
        "A-65": socket,
        "A-66": socket,
        "A-67": socket,
        "A-69": socket,
        "A-71": "the suite gives a name to each start",
        "A-72": socket,
    ]
}

/// A published test vector: a case of a file in `Protocol/vectors`, whose README names the members.
package struct Vector: Sendable {
    package let name: String
    /// The clauses that the vector proves; never empty.
    package let clauses: [String]
    private let members: JSONValue

    /// Reads the cases of an array, such as `valid` of `frames`.
    static func read(_ file: String, _ array: String) -> [Vector] {
        guard let cases = Specification.vectors[file]?[array]?.array else {
            preconditionFailure("\(file).json has no array \(array)")
        }
        return cases.map { value in
            guard let name = value["name"]?.string, let clauses = value["clauses"]?.array?.compactMap(\.string) else {
                preconditionFailure("a case of \(file).json has no name or no clauses")
            }
            return Vector(name: name, clauses: clauses, members: value)
        }
    }

    subscript(name: String) -> JSONValue? { members[name] }

    /// Returns a member that is a string.
    func string(_ name: String) -> String {
        guard let value = members[name]?.string else { preconditionFailure("\(self.name): \(name) is not a string") }
        return value
    }

    /// Returns a member that is hex.
    func bytes(_ name: String = "bytes") -> [UInt8] { InklingConformance.bytes(hex: string(name)) }

    /// Returns a member that is an array, such as the inputs of a timeline.
    func entries(_ name: String) -> [JSONValue] {
        guard let value = members[name]?.array else { preconditionFailure("\(self.name): \(name) is not an array") }
        return value
    }

    /// The end of a timeline, from its start.
    var until: Duration { members.instant("until") }
}

extension JSONValue {
    /// Returns a member that is an instant of a timeline, in milliseconds from its start.
    func instant(_ name: String = "at") -> Duration {
        guard let value = self[name]?.integer else { preconditionFailure("\(name) is not a number of milliseconds") }
        return .milliseconds(value)
    }
}

extension [Vector] {
    /// Returns all clauses of these vectors except one, each once, in order.
    func clauses(but first: String) -> [String] {
        var clauses: [String] = []
        for clause in flatMap(\.clauses) where clause != first && !clauses.contains(clause) { clauses.append(clause) }
        return clauses
    }
}

/// The kinds of vectors that can test a running program.
extension Vector {
    static let chats = read("derivations", "chats")
    static let invalidChatNames = read("derivations", "invalidChatNames")
    static let secrets = read("derivations", "secrets")
    static let invalidSecrets = read("derivations", "invalidSecrets")
    static let invites = read("derivations", "invites")
    static let invalidInvites = read("derivations", "invalidInvites")
    /// Keys that are well-formed in text, but not valid.
    static let invalidKeys = read("derivations", "invalidKeys").filter { $0.string("error") == "key" }
    static let userIDs = read("derivations", "userIDs")
    static let successors = read("derivations", "successors")
    static let invalidSuccessors = read("derivations", "invalidSuccessors")
    /// Keys with which nobody has a talk.
    static let invalidTalks = read("derivations", "invalidTalks")
    static let datagrams = read("datagrams", "valid")
    static let frames = read("frames", "valid")
    static let invalidFrames = read("frames", "invalid")
    static let names = read("frames", "names")
    static let inviteRecords = read("frames", "invites")
    static let invalidInitiations = read("handshake", "invalid").filter { $0["initiation"] != nil }
    static let invalidSealed = read("sealed", "invalid")
    static let replays = read("replay", "sequences")
    static let senderTimelines = read("timelines", "sender")
    static let receiverTimelines = read("timelines", "receiver")
    static let stateTimelines = read("links", "states")
    static let recordTimelines = read("links", "receiver")

    /// Keys of low order, from the ephemeral keys of initiations.
    static let lowOrderPoints = invalidInitiations.filter { $0.name.contains("ephemeral key of low order") }.map {
        Array($0.bytes("initiation")[13..<45])
    }

    /// Returns the private key of a public one, if a handshake has it.
    static func privateKey(of publicKey: [UInt8]) -> [UInt8]? {
        let sides = read("handshake", "valid").flatMap { [$0["initiator"], $0["responder"]] }
        let side = sides.first { $0?["staticPublic"]?.string == publicKey.hex }
        return side??["staticPrivate"]?.string.map { InklingConformance.bytes(hex: $0) }
    }
}
