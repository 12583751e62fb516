import InklingWire

/// The reading of some bytes by the table of frames, independent of the parser (W-24 to W-28, W-40).
private enum Expectation {
    /// The number of frames, and their encoding: the same bytes, but for unknown bits and reasons.
    case frames(Int, canonical: [UInt8])
    case error(FrameError.Reason, offset: Int)

    init(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            self = .error(.empty, offset: 0)
            return
        }
        var canonical = bytes
        var (offset, count, seen) = (0, 0, 0)
        while offset < bytes.count {
            switch Self.size(bytes[offset...], seen, &canonical) {
            case .success(let size):
                if bytes[offset] < 0x40 { seen |= 1 << Int(bytes[offset]) }
                offset += size
                count += 1
            case .failure(let refusal):
                self = .error(refusal.reason, offset: offset)
                return
            }
        }
        self = .frames(count, canonical: canonical)
    }

    private struct Refusal: Error {
        let reason: FrameError.Reason
    }

    /// The size of the frame that `rest` begins with; `seen` has a bit for each type before it.
    private static func size(
        _ rest: ArraySlice<UInt8>, _ seen: Int, _ canonical: inout [UInt8]
    ) -> Result<Int, Refusal> {
        let (start, left) = (rest.startIndex, rest.count)
        func refused(_ reason: FrameError.Reason) -> Result<Int, Refusal> { .failure(Refusal(reason: reason)) }
        func fixed(_ size: Int) -> Result<Int, Refusal> { left >= size ? .success(size) : refused(.truncated) }
        let type = rest[start]
        guard type < 0x40 else {
            guard left >= 3 else { return refused(.truncated) }
            return fixed(3 + Int(rest[start + 1]) * 256 + Int(rest[start + 2]))
        }
        guard [1, 2, 4, 5, 6, 7, 8, 9].contains(type) else { return refused(.unknownType) }
        if type <= 2 && seen & 0b110 != 0 { return refused(.twoStatuses) }
        if seen & 1 << Int(type) != 0 { return refused(.duplicate) }
        switch type {
        case 1, 2:
            if left >= 2 { canonical[start + 1] &= 7 }
            return fixed(type == 1 ? 3 : 2)
        case 4:
            guard left >= 6 else { return refused(.truncated) }
            let (flags, kind) = (rest[start + 5] & 3, rest[start + 5] >> 4)
            canonical[start + 5] &= 0xF3
            switch kind {
            case 0:
                guard left > 6 else { return refused(.emptyText) }
                return isUTF8(rest[(start + 6)...]) ? .success(left) : refused(.notUTF8)
            case 1, 2, 3: return flags == 3 ? .success(left) : refused(.flags)
            default: return .success(left)
            }
        case 5: return fixed(7)
        case 8:
            if left >= 2 && rest[start + 1] > 3 && rest[start + 1] != 6 { canonical[start + 1] = 0 }
            return fixed(2)
        case 9: return fixed(5)
        default: return fixed(3)
        }
    }

    /// Without overlong forms, surrogates and numbers above U+10FFFF.
    private static func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let first = bytes[index]
            let (more, lowest): (Int, UInt32)
            switch first {
            case 0x00...0x7F: (more, lowest) = (0, 0)
            case 0xC0...0xDF: (more, lowest) = (1, 0x80)
            case 0xE0...0xEF: (more, lowest) = (2, 0x800)
            case 0xF0...0xF7: (more, lowest) = (3, 0x1_0000)
            default: return false
            }
            guard bytes.endIndex - index > more else { return false }
            var scalar = more == 0 ? UInt32(first) : UInt32(first) & (0x3F >> UInt32(more))
            for byte in bytes[index + 1..<index + 1 + more] {
                guard byte & 0xC0 == 0x80 else { return false }
                scalar = scalar << 6 | UInt32(byte & 0x3F)
            }
            guard scalar >= lowest, scalar <= 0x10_FFFF, !(0xD800...0xDFFF).contains(scalar) else { return false }
            index += 1 + more
        }
        return true
    }
}

/// Under the counter of the last will only two bytes parse, with the reason 3 (W-21).
private func checkLastWill(_ bytes: [UInt8]) {
    let isWill = bytes.count == 2 && bytes[0] == 8
    let frames = try? Frames.parse(bytes, counter: .max)
    check(frames == (isWill ? [.bye(.lastWill)] : nil), "\(frames ?? []) under the last will")
}

/// Frames: refused for the reason and at the offset that the table gives, or encoded as the same bytes but for what a
/// reader ignores.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(data, count)
    checkLastWill(bytes)
    let expectation = Expectation(bytes)
    do {
        let frames = try Frames.parse(bytes)
        guard case .frames(let count, let canonical) = expectation else { fatalError("taken, not \(expectation)") }
        check(frames.count == count, "\(frames.count) frames, not \(count)")
        let encoded = Frames.encode(frames)
        check(encoded == canonical, "encoded as \(encoded), not \(canonical)")
        let ordered = Frames.inOrder(frames)
        let known = frames.count { $0.type < Frame.firstUnknownType }
        check(ordered.count == known, "\(ordered.count) frames to apply, not \(known)")
        if canonical != bytes { check((try? Frames.parse(canonical)) == frames, "other frames from their own bytes") }
    } catch {
        guard case .error(let reason, let offset) = expectation else { fatalError("refused, not \(expectation)") }
        check(error.reason == reason, "refused for \(error.reason), not \(reason)")
        check(error.offset == offset, "refused at \(error.offset), not \(offset)")
        check(error.offset < max(bytes.count, 1), "an offset outside of the input")
    }
    return 0
}
