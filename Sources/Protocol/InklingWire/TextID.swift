/// The name of a text among all texts of its writer for one recipient in one chat (M-80).
package struct TextID: Hashable, Comparable, Sendable {
    /// The writer's run, random at each start of the writer's node.
    package var run: UInt64
    /// The number of the text within the run, from 1.
    package var number: UInt64
    /// When the text was written, in milliseconds since 1970. Anybody can write any time.
    package var written: UInt64

    /// Makes an ID. ``Frames/encode(_:)`` takes the number 0 as well, although receivers ignore it.
    package init(run: UInt64, number: UInt64, written: UInt64) {
        self.run = run
        self.number = number
        self.written = written
    }

    /// Parses the body of a frame; nil for another type, another length, or the number 0 (M-81).
    init?(of type: UInt8, _ body: [UInt8]) {
        var reader = ByteReader(body)
        guard type == Frame.textIDType, body.count == Limits.textIDSize, let run = reader.uint64(),
            let number = reader.uint64(), let written = reader.uint64(), number > 0
        else { return nil }
        self.init(run: run, number: number, written: written)
    }

    var body: [UInt8] { run.bigEndianBytes + number.bigEndianBytes + written.bigEndianBytes }

    package static func < (left: TextID, right: TextID) -> Bool {
        (left.run, left.number) < (right.run, right.number)
    }
}

extension Record {
    /// Whether a text ID in the same datagram names this record's text (M-81).
    package var beginsText: Bool { isFirst && type == .text }
}
