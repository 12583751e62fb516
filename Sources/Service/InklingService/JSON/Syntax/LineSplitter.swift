/// A splitter of input into lines. At most one incomplete line is stored.
package struct LineSplitter: Sendable {
    /// The longest line in bytes, without the line feed (J-4).
    package static let longestLine = 1 << 20

    package enum Piece: Equatable, Sendable {
        case line([UInt8], number: Int)
        case tooLong(number: Int)
    }

    private let longest: Int
    private var held: [UInt8] = []
    private var overflown = false
    private var number = 1

    /// Makes a splitter.
    ///
    /// - Parameter longest: The longest line in bytes, without the line feed.
    package init(longest: Int = longestLine) {
        self.longest = longest
    }

    package mutating func feed(_ bytes: [UInt8]) -> [Piece] {
        var pieces: [Piece] = []
        var rest = bytes[...]
        while let end = Self.lineFeed(in: rest) {
            hold(rest[..<end])
            pieces.append(cut())
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { hold(rest) }
        return pieces
    }

    /// Returns the index of the first line feed.
    private static func lineFeed(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { $0.firstIndex(of: 0x0A) }.map { bytes.startIndex + $0 }
    }

    /// Returns the last line if it has no line feed.
    package mutating func finish() -> Piece? {
        held.isEmpty && !overflown ? nil : cut()
    }

    private mutating func hold(_ bytes: ArraySlice<UInt8>) {
        if held.count + bytes.count > longest {
            overflown = true
            held = []
        }
        guard !overflown else { return }
        if held.isEmpty { held = Array(bytes) } else { held.append(contentsOf: bytes) }
    }

    private mutating func cut() -> Piece {
        defer {
            held = []
            overflown = false
            number += 1
        }
        guard !overflown else { return .tooLong(number: number) }
        if held.last == UInt8(ascii: "\r") { held.removeLast() }
        return .line(held, number: number)
    }
}
