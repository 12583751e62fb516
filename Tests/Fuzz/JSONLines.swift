import Foundation
import InklingModel

@testable import InklingService

/// Checks that a request is read as Foundation reads it, or refused in a short text. Foundation accepts more than it
/// should, and no value nested deeper than 512.
private func checkLine(_ line: [UInt8], openChat: String?) {
    let request = JSONRequest(line, openChat: openChat)
    if RelayedLine.isEdit(line) {
        let edit = JSONRequest(line, openChat: "kitchen")
        guard edit.id == nil, case .success(let asked) = edit.asked, case .compose(_, "kitchen") = asked.request else {
            fatalError("the program passed a line that is not an edit")
        }
    }
    switch request.asked {
    case .success(let asked):
        guard let written = asked.request.line?.closed() else { fatalError("a request that no line can have") }
        check(written.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in a line of output")
        guard let members = try? JSONMembers(written) else { fatalError("a line that is not JSON") }
        // The request has the text of chats and invites in another form.
        let others: Set = ["chat", "secret", "invite"]
        checkReference(
            line,
            members.all.compactMap { name, value in value.string.map { (name, .string($0)) } }
                .filter { !others.contains($0.0) })
        if let tag = request.tag { checkReference(line, [("tag", .string(tag))]) }
        let again = try? JSONRequest(written, openChat: nil).asked.get().request
        check(again == asked.request, "another request from its own line")
        check(again?.line?.closed() == written, "another line from its own line")
    case .failure(let error):
        check(!error.fact.isEmpty && error.fact.utf8.count < 300, "a refusal of \(error.fact.utf8.count) bytes")
    }
}

private func checkReference(_ line: [UInt8], _ members: [(String, JSONValue)]) {
    guard line.count(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }) <= 512 else { return }
    let reference = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
    guard let reference else {
        // Foundation refuses a number that no Double holds, also in a member that the command does not have.
        check(String(decoding: line, as: UTF8.self).contains(#/[0-9][eE][+-]?[0-9]{3}/#), "taken, but not JSON")
        return
    }
    for (name, value) in members {
        // Of other values the types are checked where they are read.
        guard case .string(let text) = value else { continue }
        let quoted = Array("\"\(name)\"".utf8)
        // Of a name that is there twice Foundation may take another one, and a name may be written in escapes.
        guard line.firstRange(of: quoted) != nil, !line.contains(UInt8(ascii: "\\")) else { continue }
        guard line.ranges(of: quoted).count == 1 else { continue }
        // Foundation takes a byte order mark at the beginning of a string away, which is a character like any other there.
        guard line.firstRange(of: [0xEF, 0xBB, 0xBF]) == nil else { continue }
        check(areIdentical(reference[name] as? String ?? "", text), "another \(name) than Foundation's")
    }
}

/// Checks that a daemon's line is read without a trap, and that the texts of a message equal Foundation's.
private func checkOutput(_ line: [UInt8]) {
    guard let members = try? JSONMembers(line) else { return }
    _ = AttachedEvents.endReason(members)
    for request in ServiceRequest.blanks {
        let answer = ServiceAnswer(members, to: request)
        if case .failed = answer { continue }
        let line = answer.line(to: request, of: .blank, version: "", tag: nil, at: 1).closed()
        // Times are exact only after they were written.
        let again = (try? JSONMembers(line)).map { ServiceAnswer($0, to: request) }
        let second = again?.line(to: request, of: .blank, version: "", tag: nil, at: 1).closed()
        check(second == line, "another answer from its own line")
    }
    let output = AttachedEvents.output(members)
    if let first = written(output) {
        let again = (try? JSONMembers(first)).flatMap(AttachedEvents.output)
        check(written(again) == first, "another event from its own line")
    }
    switch output {
    case .own(let own): checkReference(line, [("chat", .string(own.chat)), ("text", .string(own.text))])
    case .event(let timed), .unread(let timed):
        check(timed.at.rawValue.isFinite, "a time that is none")
        guard case .message(let message) = timed.event else { return }
        check(UserID(message.sender.user.description) == message.sender.user, "a user ID that is none")
        checkReference(line, [("chat", .string(message.chat)), ("text", .string(message.text))])
    case .user: break
    case .answer, .ended: fatalError("an answer or an end, by itself")
    case nil: break
    }
}

private let events = JSONEvents(
    indicator: { "\($0.count)" }, notice: { if case .other(_, let text) = $0 { text } else { "" } })

/// Returns the line of an output; nil for an answer or the end.
private func written(_ output: ServiceOutput?) -> [UInt8]? {
    switch output {
    case .event(let timed): return events.line(for: timed).closed()
    case .unread(let timed): return events.line(for: timed, isUnread: true).closed()
    case .own(let own): return events.line(for: own, from: .blank).closed()
    case .user(var user):
        var line = JSONLine(at: user.at)
        user.members(&line)
        return line.closed()
    case .answer, .ended, nil: return nil
    }
}

/// Lines are the same, however the input comes in pieces, and counted from 1.
private func checkSplitting(_ bytes: [UInt8]) -> [LineSplitter.Piece] {
    func pieces(_ parts: some Sequence<ArraySlice<UInt8>>) -> [LineSplitter.Piece] {
        var splitter = LineSplitter()
        var pieces = parts.flatMap { splitter.feed(Array($0)) }
        if let last = splitter.finish() { pieces.append(last) }
        return pieces
    }
    let whole = pieces(CollectionOfOne(bytes[...]))
    check(pieces(bytes.indices.map { bytes[$0...$0] }) == whole, "other lines byte by byte")
    for (index, piece) in whole.enumerated() {
        guard case .line(let line, let number) = piece else { fatalError("too long, at \(bytes.count) bytes") }
        check(number == index + 1, "line \(index + 1) has the number \(number)")
        check(!line.contains(UInt8(ascii: "\n")) && line.count <= bytes.count, "a line that is not one of the input")
    }
    return whole
}

/// A splitter that has room for 16 more bytes of its line.
private let nearlyFull: LineSplitter = {
    var splitter = LineSplitter()
    _ = splitter.feed(Array(repeating: UInt8(ascii: "x"), count: LineSplitter.longestLine - 16))
    return splitter
}()

private func checkLongLine(_ bytes: [UInt8]) {
    var splitter = nearlyFull
    guard let first = splitter.feed(bytes).first ?? splitter.finish() else { fatalError("no line") }
    let added = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    switch first {
    case .tooLong(let number): check(number == 1 && added > 16, "too long, with \(added) bytes more")
    case .line(let line, let number):
        check(number == 1 && added <= 16, "not too long, with \(added) bytes more")
        let isTrimmed = added > 0 && bytes[added - 1] == UInt8(ascii: "\r")
        check(line.count == LineSplitter.longestLine - 16 + added - (isTrimmed ? 1 : 0), "a line cut short")
    }
}

/// Input of the JSON interface on either side, as a stream of lines. After a first byte of 0xFF, the input is the end
/// of a very long line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSONLines(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    if bytes.first == 0xFF {
        checkLongLine(Array(bytes.dropFirst()))
    } else {
        for case .line(let line, _) in checkSplitting(bytes) {
            checkLine(line, openChat: "kitchen")
            checkLine(line, openChat: nil)
            checkOutput(line)
        }
    }
    return 0
}
