import Foundation
import InklingWire
import Testing

@Suite("Limits")
struct LimitsTests {
    /// The rows of limits.md: name, value, clauses, and what happens when the limit is reached.
    private func rows() throws -> [[String]] {
        String(decoding: try contents(of: "../../Protocol/limits.md"), as: UTF8.self).split(separator: "\n")
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.count > 2 && $0[0] != "name" && $0[0] != "---" }
    }

    /// The numbers and units in a value; other words may change.
    private func measures(_ value: String) -> [String] {
        value.matches(of: #/\d[\d,]*(?:\.\d+)?|\b(?:ms|s|min|h|MiB|bytes)\b|%/#).map {
            var measure = String($0.0)
            if measure.hasSuffix(",") { measure.removeLast() }
            if measure.hasSuffix(".0") { measure.removeLast(2) }
            return measure
        }
    }

    @Test("the code has what the specification's page of limits says", arguments: LimitRow.all)
    func specification(_ row: LimitRow) throws {
        let value = try #require(try rows().first { $0[0] == row.testDescription }, "a row of that name")[1]
        let here = measures(row.value)
        #expect(here == measures(value).prefix(here.count) + [], "\(row.value) is not \(value)")
        #expect(measures(value).dropFirst(here.count).allSatisfy { Int($0) == nil }, "\(value) says more")
    }

    @Test("each row of the page is in the code")
    func allRows() throws {
        let names = Set(LimitRow.all.map(\.testDescription))
        #expect(names.count == LimitRow.all.count)
        #expect(Set(try rows().map { $0[0] }) == names)
    }

    @Test("W-28: a record's text is the room of a full datagram behind a typing frame")
    func recordText() {
        #expect(SealedDatagram.plaintextSizes.upperBound - 2 - 6 == Limits.maximumRecordTextSize)
        let record = Record(
            number: 1, type: .text, body: Array(repeating: 0x61, count: Limits.maximumRecordTextSize))
        #expect(SealedDatagram.size(of: [.typing(Status()), .record(record)]) == Limits.maximumDatagramSize)
    }

    @Test("M-39: a begun message reserves the longest message and its overhead")
    func reservation() {
        #expect(Limits.reservation == Limits.messageSizes.upperBound + Limits.heldTextOverhead)
    }

    @Test("L-26, L-27: at an interval of 1 s the pings end 3.0 s after the last evidence")
    func suspicion() {
        let suspected = Limits.idleInterval * Limits.suspicionQuarterIntervals / 4
        #expect(suspected + Limits.pingInterval * Limits.pings == .seconds(3))
    }
}
