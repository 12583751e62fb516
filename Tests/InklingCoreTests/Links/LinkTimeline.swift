import Foundation
import InklingCore
import InklingWire
import Testing

/// A case of `Protocol/vectors/links.json`: what a scripted peer does, and what one node sends and tells.
struct LinkTimeline: Decodable, Sendable, CustomTestStringConvertible {
    /// A frame by its type and fields, as text.
    typealias Fields = [String: Scalar]

    struct Input: Decodable, Sendable {
        let at: Int
        let `do`: String
        let instance: String?
        let addresses: [String]?
        let address: String?
        let from: String?
        let to: String?
        let session: String?
        let counter: UInt64?
        let frames: [Fields]?
        let plaintext: String?
        let text: String?
        let until: Int?
    }

    struct Expected: Decodable, Sendable {
        var at: Times
        var to: String
        var kind: String
        var initiation: String?
        var step: Times?
        var session: String?
        var frames: [Fields]?
        var same: String?
        var optional: Bool?
        var then: Bool?
    }

    struct Event: Decodable, Sendable, Equatable {
        var at: Int
        let event: String
        var presence: String?
        var why: String?
        var shown: Bool?
        var text: String?
    }

    let name: String
    let clauses: [String]
    let key: String
    let inputs: [Input]
    var datagrams: [Expected]
    var events: [Event]
    let until: Int

    var testDescription: String { "\(name) (\(clauses.joined(separator: ", ")))" }

    /// The timelines of the file; none if it cannot be read, which a test notices.
    static let all: [LinkTimeline] = {
        struct File: Decodable { let timelines: [LinkTimeline] }
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let url = folder.appendingPathComponent("../../../Protocol/vectors/links.json")
        return (try? JSONDecoder().decode(File.self, from: Data(contentsOf: url)))?.timelines ?? []
    }()
}

extension LinkTimeline {
    /// An instant, or the first and the last that will do.
    struct Times: Decodable, Sendable {
        var range: ClosedRange<Int>

        init(from decoder: Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let instant = try? value.decode(Int.self) {
                range = instant...instant
            } else {
                let ends = try value.decode([Int].self)
                guard ends.count == 2, ends[0] <= ends[1] else {
                    throw DecodingError.dataCorruptedError(in: value, debugDescription: "no range")
                }
                range = ends[0]...ends[1]
            }
        }
    }

    /// A number, a truth or a text, as text.
    struct Scalar: Decodable, Sendable, Equatable, ExpressibleByStringLiteral {
        let text: String

        init(_ value: some CustomStringConvertible) { text = value.description }
        init(stringLiteral: String) { text = stringLiteral }

        init(from decoder: Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let truth = try? value.decode(Bool.self) {
                self.init(truth)
            } else if let number = try? value.decode(UInt64.self) {
                self.init(number)
            } else {
                self.init(try value.decode(String.self))
            }
        }
    }
}

// MARK: - What was seen, against what was expected

extension LinkTimeline {
    /// A datagram of the node.
    struct Seen {
        let at: Int
        let to: String
        let kind: String
        var initiation: String?
        var session: String?
        var frames: [Fields] = []
        let bytes: [UInt8]

        /// Heartbeats alone come in a rhythm of their own, which these timelines leave out.
        var isHeartbeatAlone: Bool { frames.count == 1 && frames[0]["type"] == "heartbeat" }

        var text: String { "\(kind) at \(at) to \(to): \(initiation ?? session ?? "") \(frames.map(Self.text))" }

        private static func text(_ fields: Fields) -> String {
            fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }.joined(separator: " ")
        }
    }

    /// What does not fit: datagrams that nothing expects, and those that never came.
    func problems(_ seen: [Seen], _ events: [Event]) -> [String] {
        var problems: [String] = []
        var isMatched = Array(repeating: false, count: datagrams.count)
        var lastInitiations: [String: Int] = [:]
        var bytes: [String: [UInt8]] = [:]
        for datagram in seen {
            let train = "\(datagram.initiation ?? "") \(datagram.to)"
            let match = datagrams.indices.first { index in
                let expected = datagrams[index]
                guard !isMatched[index], fits(datagram, expected) else { return false }
                if expected.then == true, index == 0 || !isMatched[index - 1] { return false }
                if let same = expected.same, let first = bytes[same], first != datagram.bytes { return false }
                guard let step = expected.step else { return true }
                return step.range.contains(datagram.at - (lastInitiations[train] ?? 0))
            }
            guard let match else {
                if !datagram.isHeartbeatAlone { problems.append("unexpected: \(datagram.text)") }
                continue
            }
            isMatched[match] = true
            if datagram.initiation != nil { lastInitiations[train] = datagram.at }
            if let same = datagrams[match].same { bytes[same] = datagram.bytes }
        }
        for index in datagrams.indices where !isMatched[index] && datagrams[index].optional != true {
            problems.append("missing: \(datagrams[index])")
        }
        if events != self.events { problems.append("told \(events), and not \(self.events)") }
        return problems
    }

    private func fits(_ seen: Seen, _ expected: Expected) -> Bool {
        guard expected.kind == seen.kind, expected.to == seen.to, expected.at.range.contains(seen.at),
            expected.initiation == seen.initiation, expected.session == seen.session
        else { return false }
        let frames = expected.frames ?? []
        guard frames.count == seen.frames.count else { return false }
        return frames.allSatisfy { fields in
            seen.frames.contains { frame in fields.allSatisfy { frame[$0.key] == $0.value } }
        }
    }
}
