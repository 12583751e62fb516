import InklingModel

extension Statistics {
    /// The counters as a line.
    package var line: JSONLine { JSONLine(on: "stats", members) }

    /// The counters as members of a line, with their names, in order.
    private var members: [(String, JSONValue?)] {
        [
            ("bytesReceived", .integer(bytesReceived)), ("bytesSent", .integer(bytesSent)),
            ("datagramsReceived", Self.counts(datagramsReceived)), ("datagramsSent", Self.counts(datagramsSent)),
            ("drops", Self.counts(drops)), ("handshakesCompleted", .integer(handshakesCompleted)),
            ("indicatedShare", .number(indicatedShare)), ("lateTimers", .integer(lateTimers)),
            ("links", .integer(links)), ("linksLostToSilence", .integer(linksLostToSilence)),
            ("linksMade", .integer(linksMade)), ("messagesDelivered", .integer(messagesDelivered)),
            ("messagesFailed", .integer(messagesFailed)), ("messagesReceived", .integer(messagesReceived)),
            ("messagesSent", .integer(messagesSent)), ("retransmissions", .integer(retransmissions)),
            ("roundTripMaximum", roundTripMaximum.map(JSONValue.number)),
            ("roundTripMinimum", roundTripMinimum.map(JSONValue.number)),
            ("sendErrors", Self.counts(sendErrors)), ("staleClears", .integer(staleClears)),
            ("typingStartsLimited", .integer(typingStartsLimited)),
            ("typingStartsReceived", .integer(typingStartsReceived)),
            ("typingStartsSent", .integer(typingStartsSent)),
        ]
    }

    private static func counts<Kind: RawRepresentable<String>>(_ counts: [Kind: Int]) -> JSONValue {
        Self.counts(Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) }))
    }

    private static func counts(_ counts: [String: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
    }
}
