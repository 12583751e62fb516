import Foundation
import InklingModel

@testable import InklingService

/// The members of a line of input with this command.
private func members(_ command: JSONCommand) -> [(String, JSONValue)] {
    switch command {
    case .ask(let request, let opens):
        // The codec of requests writes joins that open nothing.
        (request.members ?? []).map { $0.0 == "open" ? ($0.0, .boolean(opens)) : $0 }
    case .whoOfNoChat: [("do", .string("who"))]
    case .identity: [("do", .string("identity"))]
    case .quit: [("do", .string("quit"))]
    }
}

/// Whether two commands have the same members with the same bytes.
private func areIdentical(_ left: JSONCommand, _ right: JSONCommand) -> Bool {
    members(left).elementsEqual(members(right)) { $0.0 == $1.0 && areIdentical($0.1.text, $1.1.text) }
}

/// Checks that a command is read as Foundation reads it, or refused in a short text. Foundation accepts more than it
/// should, and no value nested deeper than 512.
private func checkLine(_ line: [UInt8], openChat: String?) {
    let request = JSONRequest(line, openChat: openChat)
    switch request.command {
    case .success(let command):
        let members = members(command)
        check(!members.isEmpty, "a request that no line can have")
        // The command has the text of chats and invites in another form.
        let others: Set = ["chat", "secret", "invite"]
        checkReference(line, members.filter { !others.contains($0.0) })
        if let tag = request.tag { checkReference(line, [("tag", .string(tag))]) }
        let written = Array(JSONValue.object(members).text.utf8)
        check(written.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in a line of output")
        let again = try? JSONRequest(written, openChat: nil).command.get()
        check(again.map { areIdentical($0, command) } == true, "another command from its own line")
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
    _ = (members.identity, members.statistics, AttachedEvents.endReason(members))
    _ = (members.list("peers", \.peer), members.list("people", \.knownPeer), members.list("found", \.sighting))
    _ = (members.list("chats", \.chatStatus), members.list("messages") { $0.recentMessage(in: "kitchen") })
    switch AttachedEvents.output(members) {
    case .own(let own): checkReference(line, [("chat", .string(own.chat)), ("text", .string(own.text))])
    case .event(let timed), .waited(let timed):
        check(timed.at.rawValue.isFinite, "a time that is none")
        guard case .message(let message) = timed.event else { return }
        check(UserID(message.sender.user.description) == message.sender.user, "a user ID that is none")
        checkReference(line, [("chat", .string(message.chat)), ("text", .string(message.text))])
    case .user: break
    case .answer, .ended: fatalError("an answer or an end, by itself")
    case nil: break
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
