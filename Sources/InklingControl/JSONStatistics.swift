import Inkling

extension Statistics {
    /// The counters as a line, beside "on" and "at" in one object, by their names and in their order.
    package var line: String {
        JSONLine(
            on: "stats",
            [
                ("bytesReceived", .integer(bytesReceived)), ("bytesSent", .integer(bytesSent)),
                ("datagramsReceived", Self.counts(datagramsReceived)), ("datagramsSent", Self.counts(datagramsSent)),
                ("drops", Self.counts(drops)), ("handshakesCompleted", .integer(handshakesCompleted)),
                ("indicatedShare", Self.number(indicatedShare)), ("lateTimers", .integer(lateTimers)),
                ("links", .integer(links)), ("linksLostToSilence", .integer(linksLostToSilence)),
                ("linksMade", .integer(linksMade)), ("messagesDelivered", .integer(messagesDelivered)),
                ("messagesFailed", .integer(messagesFailed)), ("messagesReceived", .integer(messagesReceived)),
                ("messagesSent", .integer(messagesSent)), ("retransmissions", .integer(retransmissions)),
                ("roundTripMaximum", roundTripMaximum.map(Self.number)),
                ("roundTripMinimum", roundTripMinimum.map(Self.number)),
                ("sendErrors", Self.counts(sendErrors)), ("staleClears", .integer(staleClears)),
                ("typingStartsLimited", .integer(typingStartsLimited)),
                ("typingStartsReceived", .integer(typingStartsReceived)),
                ("typingStartsSent", .integer(typingStartsSent)),
            ]
        ).text
    }

    private static func counts<Kind: RawRepresentable<String>>(_ counts: [Kind: Int]) -> JSONValue {
        Self.counts(Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) }))
    }

    private static func counts(_ counts: [String: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
    }

    /// A finite number.
    private static func number(_ value: Double) -> JSONValue { .raw(String(value)) }
}
