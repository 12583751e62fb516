import Foundation
import InklingCore
import InklingModel
import InklingWire

@testable import Inkling
@testable import InklingService

/// The writer of lines about events.
private let events = JSONEvents(indicator: { "\($0.count) typing" }, notice: \.code)

/// Returns the members of a line, which is JSON as Foundation reads it.
private func members(_ line: String) -> [String: Any] {
    guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
        fatalError("not JSON: \(line)")
    }
    return object
}

/// Checks that a time is written as a number in the years 1970 to 9999.
private func checkTime(_ time: Any?) {
    guard let seconds = time as? Double else { fatalError("a time that is no number") }
    check((0...253_402_300_800).contains(seconds), "the time \(seconds)")
}

/// Checks the lines of a received text: the event, and the message among the last ones.
private func checkLines(of text: KeptText) {
    guard case .message(let message) = text.event(7, in: "team") else { fatalError("another event") }
    let event = text.event(7, in: "team")
    let line = members(events.line(for: TimedEvent(at: text.at, event: event)).text)
    checkTime(line["at"])
    checkTime(line["written"])
    let listed = ListedMessage(RecentMessage(at: text.at, .received(message, isDelayed: false)), user: .blank)
    let recent = members(JSONValue.object(of: listed).text)
    checkTime(recent["at"])
    checkTime(recent["written"])
    // The line of the event is also one that an attached front end reads.
    guard let read = try? JSONMembers(Array(events.line(for: TimedEvent(at: text.at, event: event)).text.utf8)),
        case .event(let again) = AttachedEvents.output(read), case .message(let other) = again.event
    else { fatalError("no event in a line of one") }
    check(areIdentical(other.text, text.text), "another text")
    guard let before = message.written, let after = other.written else { fatalError("no time of writing") }
    check(abs(after.seconds(since: before)) < 0.001, "another time of writing")
}

/// Checks the line of a waiting text, and its way through the queues.
private func checkQueues(of state: TextState) {
    var queues = TextQueues(newRun: { 1 })
    queues.restore(state.waiting, in: "team", highestEntry: state.highestEntry)
    for text in queues.waiting() {
        let content = text.content
        let entry = WaitingEntry(
            entry: content.entry, chat: "team", user: content.key.userID, name: content.name, key: content.key,
            at: content.at, text: content.text)
        let value = members(JSONValue.object(of: entry).text)
        checkTime(value["at"])
        check((value["entry"] as? UInt64).map { $0 < 1 << 53 } == true, "an entry that no request can name")
    }
    for person in queues.people() {
        for text in queues.due(for: person) { queues.sent(text, as: 1) }
        _ = queues.plan(size: 1, in: "team", linked: [person.key], now: 5)
        _ = queues.failed(1, to: person)
        _ = queues.becameAbsent(person) { _ in .member }
    }
    let recipients = state.waiting.map { TextQueues.Recipient(key: $0.key, name: $0.name, isThere: false) }
    _ = queues.add("x", 9, in: "team", to: Array(recipients.prefix(4)), TextQueues.Plan(), now: 5, age: .zero) { _ in
        .stranger
    }
    _ = queues.expire(at: .zero)
    _ = queues.expire(at: .zero + .seconds(Int64(1) << 52))
}

/// Records of texts as a disk holds them, each behind two bytes with its size: from the bytes to the lines of JSON.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTexts(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var reader = ByteReader(input(data, count))
    var state = TextState()
    var isWritten = true
    while let size = reader.uint16() {
        let bytes = reader.take(Int(size)) ?? reader.rest()
        guard let record = TextRecord(bytes) else { continue }
        // A time or a name that no node writes is written in another form, which stays.
        let written = record.bytes
        check(TextRecord(written) == record && TextRecord(written)?.bytes == written, "not the same again")
        // A node writes the IDs seen behind all texts.
        if case .seen = record { isWritten = false }
        state.apply(record)
        if case .received(let text) = record { checkLines(of: text) }
    }
    for text in state.unread { checkLines(of: text) }
    checkQueues(of: state)
    for (_, seen) in state.seen { check(seen.runs.count <= Limits.runsSeen, "too many runs") }
    let again = state.snapshot.reduce(into: TextState()) { $0.apply($1) }
    check(again.waiting == state.waiting, "a snapshot with other waiting texts")
    check(!isWritten || again.unread == state.unread, "a snapshot with other unread texts")
    return 0
}
