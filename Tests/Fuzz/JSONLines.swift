import Foundation
import InklingControl

/// The strings of a command: the member names of the interface and their values.
private func members(_ command: JSONCommand) -> [(String, String?)] {
    switch command {
    case .compose(let text, let chat): [("do", "compose"), ("text", text), ("chat", chat)]
    case .send(let text, let tag, let chat): [("do", "send"), ("text", text), ("tag", tag), ("chat", chat)]
    case .join(let chat, let secret): [("do", "join"), ("chat", chat), ("secret", secret)]
    case .leave(let chat): [("do", "leave"), ("chat", chat)]
    case .open(let chat): [("do", "open"), ("chat", chat)]
    case .setAway(let isAway): [("do", isAway ? "away" : "back")]
    case .block(let user): [("do", "block"), ("user", user)]
    case .unblock(let user): [("do", "unblock"), ("user", user)]
    case .who(let chat): [("do", "who"), ("chat", chat)]
    case .stats: [("do", "stats")]
    case .quit: [("do", "quit")]
    }
}

/// Whether two commands have the same members with the same bytes.
private func areIdentical(_ left: JSONCommand, _ right: JSONCommand) -> Bool {
    members(left).elementsEqual(members(right)) {
        $0.0 == $1.0 && ($0.1 == nil) == ($1.1 == nil) && areIdentical($0.1 ?? "", $1.1 ?? "")
    }
}

/// A line is read as Foundation reads it, which takes more than it should and no value nested deeper than 512, or it is
/// refused in a short text.
private func checkLine(_ line: [UInt8]) {
    do {
        let command = try JSONCommand(line)
        checkReference(line, members(command))
        let strings = members(command).compactMap { name, text in text.map { (name, JSONValue.string($0)) } }
        let written = Array(JSONValue.object(strings).text.utf8)
        check(written.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in a line of output")
        let again = try? JSONCommand(written)
        check(again.map { areIdentical($0, command) } == true, "another command from its own line")
        if case .send(_, let tag, _) = command { check(JSONCommand.tag(of: line) == tag, "another tag of a send") }
    } catch {
        check(!error.text.isEmpty && error.text.utf8.count < 300, "a refusal of \(error.text.utf8.count) bytes")
    }
}

private func checkReference(_ line: [UInt8], _ members: [(String, String?)]) {
    guard line.count(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }) <= 512 else { return }
    let reference = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
    guard let reference else { fatalError("taken, but not JSON") }
    for (name, text) in members {
        let quoted = Array("\"\(name)\"".utf8)
        // Of a name that is there twice Foundation may take another one, and a name may be written in escapes.
        guard line.firstRange(of: quoted) != nil, !line.contains(UInt8(ascii: "\\")) else { continue }
        guard line.ranges(of: quoted).count == 1 else { continue }
        // Foundation takes a byte order mark at the beginning of a string away, which is a character like any other there.
        guard line.firstRange(of: [0xEF, 0xBB, 0xBF]) == nil else { continue }
        check(areIdentical(reference[name] as? String ?? "", text ?? ""), "another \(name) than Foundation's")
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

/// Input of the JSON interface, as a stream of lines; behind a byte that begins no line, the end of a very long one.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSONLines(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    if bytes.first == 0xFF {
        checkLongLine(Array(bytes.dropFirst()))
    } else {
        for case .line(let line, _) in checkSplitting(bytes) { checkLine(line) }
    }
    return 0
}
