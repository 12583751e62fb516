import InklingWire

/// The receiver's side of one link's reliable stream of records: any order → whole messages in order, once.
struct ReceiveStream {
    /// The peer's stream that is held; 0 for none.
    private(set) var id: UInt32 = 0
    /// The record that is expected next.
    private(set) var next: UInt32 = 0
    private var beyond: [UInt32: Record] = [:]
    private var parts: [String] = []
    private var partsSize = 0
    private var isAssembling = false

    /// The last streams that were given up for others after records of them had come (M-7).
    private var givenUp: [UInt32] = []

    /// The peer's hello named its stream; another than the one held begins at record 0, unless it was begun before.
    mutating func hold(_ stream: UInt32) {
        guard stream != id, !givenUp.contains(stream) else { return }
        let isBegun = next > 0 || !beyond.isEmpty
        let givenUp = isBegun ? givenUp.suffix(Limits.rememberedStreams - 1) + [id] : givenUp
        self = ReceiveStream()
        self.givenUp = Array(givenUp)
        id = stream
    }

    /// A record came.
    ///
    /// - Returns: The messages that it completes, in order; nil when the record is of another stream and gets no
    ///   acknowledgement.
    mutating func receive(_ record: Record) -> [String]? {
        guard record.stream == id, id != 0 else { return nil }
        guard record.number >= next else { return [] }
        guard record.number - next < UInt32(Limits.recordsInFlight) else { return [] }
        if record.number > next {
            beyond[record.number] = record
            return []
        }
        var messages: [String] = []
        var current: Record? = record
        while let record = current {
            if let message = append(record) { messages.append(message) }
            next &+= 1
            current = beyond.removeValue(forKey: next)
        }
        return messages
    }

    /// What is acknowledged now.
    var ack: Ack {
        var bitmap: UInt16 = 0
        for bit in 0..<UInt32(16) where next < UInt32.max - 17 && beyond[next + 1 + bit] != nil {
            bitmap |= 1 << UInt16(bit)
        }
        return Ack(stream: id, next: next, bitmap: bitmap)
    }

    /// A record that breaks the order of first and last, or the limit, is dropped with what it would join.
    private mutating func append(_ record: Record) -> String? {
        guard record.isFirst != isAssembling else {
            parts = []
            isAssembling = false
            return nil
        }
        if record.isFirst { partsSize = 0 }
        isAssembling = true
        partsSize += record.text.utf8.count
        guard partsSize <= Limits.reassemblyBytesPerLink else {
            parts = []
            isAssembling = false
            return nil
        }
        parts.append(record.text)
        guard record.isLast else { return nil }
        isAssembling = false
        defer { parts = [] }
        return parts.joined()
    }
}
