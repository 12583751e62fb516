import Foundation
import Inkling
import InklingService
import Testing

@Suite("Counters in the JSON interface")
struct StatisticsLineTests {
    /// Returns counters that are all different, so that a mix-up of two is noticed.
    private static func statistics(roundTrips: Bool) throws -> Statistics {
        let names = [
            "bytesReceived", "bytesSent", "staleClears", "retransmissions", "typingStartsSent", "typingStartsReceived",
            "typingStartsLimited", "messagesSent", "messagesReceived", "messagesDelivered", "messagesFailed",
            "handshakesCompleted", "linksMade", "linksLostToSilence", "lateTimers", "links",
        ]
        var members: [String: Any] = [
            "datagramsReceived": ["initiation": 101, "tell": 102], "datagramsSent": ["bye": 103], "drops": [:],
            "sendErrors": ["no \"route\"": 104], "indicatedShare": 0.375,
        ]
        for (index, name) in names.enumerated() { members[name] = index + 1 }
        if roundTrips { members.merge(["roundTripMinimum": 0.25, "roundTripMaximum": 1e-5]) { $1 } }
        return try JSONDecoder().decode(Statistics.self, from: JSONSerialization.data(withJSONObject: members))
    }

    @Test("all of them are in the line, under their names, in alphabetical order", arguments: [true, false])
    func members(_ roundTrips: Bool) throws {
        let statistics = try Self.statistics(roundTrips: roundTrips)
        let line = ServiceAnswer.statistics(statistics).line(
            to: .statistics, of: FakeNode().identity, version: "1", tag: nil, at: 1.5
        ).text
        #expect(line.hasPrefix(#"{"on":"stats","at":"#))
        #expect(try JSONDecoder().decode(Statistics.self, from: Data(line.utf8)) == statistics)
        let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let names = Mirror(reflecting: statistics).children.compactMap(\.label)
        let expected = names.filter { roundTrips || !$0.hasPrefix("roundTrip") }
        #expect(Set(object.keys) == Set(expected + ["on", "at"]))
        let places = expected.sorted().compactMap { line.range(of: "\"\($0)\":")?.lowerBound }
        #expect(places.count == expected.count && places == places.sorted())
    }
}
