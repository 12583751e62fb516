import Foundation
import InklingWire
import Testing

@testable import InklingCore

/// Reads files of Protocol/vectors.
enum VectorFile {
    static func read<Content: Decodable>(_ name: String, as type: Content.Type) -> Content? {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Protocol/vectors/\(name).json")
        return try? JSONDecoder().decode(type, from: Data(contentsOf: url))
    }
}

/// A sequence of inputs, with the effects that it has to have. Each kind of sequence has some of the members.
struct VectorCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Input: Decodable, Sendable {
        let at: Int
        let `do`, text: String?
        let counter: UInt32?
        let typing: Bool?
        let frames: [VectorFrame]?
    }

    struct Expected: Decodable, Sendable {
        let at: Int
        let frame, with, state, presence: String?
        let typing, away, shown: Bool?
        let frames: [VectorFrame]?
    }

    let name: String
    let clauses: [String]
    let inputs: [Input]
    let expect: [Expected]
    let until: Int
    var testDescription: String { "\(name) (\(clauses.joined(separator: ", ")))" }
}

/// A frame as the vectors write it.
struct VectorFrame: Decodable, Sendable {
    /// The token of a ping: a number, or the name of a token that the node chose.
    enum Token: Decodable, Sendable, Hashable {
        case number(UInt16)
        case name(String)

        init(from decoder: Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(UInt16.self) {
                self = .number(number)
            } else {
                self = .name(try value.decode(String.self))
            }
        }
    }

    let type: String
    let typing: Bool?
    let away: Bool?
    let unheard: Bool?
    let interval: UInt8?
    let token: Token?
    let reason: String?
    let number: UInt32?
    let recordType: UInt8?
    let first: Bool?
    let last: Bool?
    let body: String?
    let code: UInt8?

    /// Returns the frame, with the node's tokens in place of their names.
    func frame(_ tokens: [UInt16]) -> Frame? {
        let status = Status(isTyping: typing ?? false, isAway: away ?? false, isUnheard: unheard ?? false)
        switch type {
        case "heartbeat": return .heartbeat(Heartbeat(status: status, interval: interval ?? 10))
        case "typing": return .typing(status)
        case "ping": return token.map { .ping(number(of: $0, tokens)) }
        case "pong": return token.map { .pong(number(of: $0, tokens)) }
        case "bye": return .bye(.quit)
        case "record":
            let record = Record(
                number: number ?? 0, type: RecordType(code: recordType ?? 0), isFirst: first ?? true,
                isLast: last ?? true, body: bytes)
            return .record(record)
        case "unknown": return code.map { .unknown(type: $0, body: bytes) }
        default: return nil
        }
    }

    private func number(of token: Token, _ tokens: [UInt16]) -> UInt16 {
        switch token {
        case .number(let number): return number
        case .name(let name):
            let index = (Int(name.dropFirst()) ?? 0) - 1
            return tokens.indices.contains(index) ? tokens[index] : 0
        }
    }

    private var bytes: [UInt8] {
        let digits = Array((body ?? "").utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
