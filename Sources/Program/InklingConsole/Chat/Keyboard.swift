/// The user's input. Bytes become keys, and the editor turns keys into a text. Input waits here until the model can
/// process it.
///
/// Time is in milliseconds of a clock that never goes back.
struct Keyboard: Sendable {
    /// The time for which an Escape waits for the rest of a key's sequence.
    static let escapeWait: Int64 = 50
    /// The time for which a paste waits for its next bytes. Its end may be lost.
    static let pasteWait: Int64 = 1_000
    /// The number of keys and lines that may wait for an answer. Further ones are lost.
    static let heldLimit = 4_096

    /// One step of input.
    enum Input: Sendable {
        /// A key.
        ///
        /// - Parameter isLast: whether it is the last of the keys that came together.
        case key(Key, isLast: Bool)
        case line(String)
    }

    var editor = LineEditor()
    var completion = Completion()
    /// Whether the program is about to be stopped. Typed input then waits until after the stop.
    var isStopped = false
    private var decoder = KeyDecoder()
    private var held: ArraySlice<Input> = []
    private var escapeAt: Int64?

    /// The time of the next call of `tick(at:)`; nil for none.
    var nextDeadline: Int64? { escapeAt }

    /// Decodes bytes of a terminal, and returns the keys that they complete.
    mutating func decode(_ bytes: some Sequence<UInt8>, at now: Int64) -> [Key] {
        defer {
            escapeAt = decoder.isPasting ? now + Self.pasteWait : decoder.isWaiting ? now + Self.escapeWait : nil
        }
        return decoder.feed(bytes)
    }

    /// Adds a line that the user entered.
    mutating func enter(_ line: String) {
        if held.count < Self.heldLimit { held.append(.line(line)) }
    }

    /// Completes the keys and pastes whose next bytes are overdue.
    mutating func tick(at now: Int64) {
        guard let time = escapeAt, time <= now else { return }
        escapeAt = nil
        add(decoder.isPasting ? decoder.endPaste() : decoder.flush())
    }

    /// Whether a Ctrl-C waits.
    var holdsInterrupt: Bool {
        held.contains { input in
            if case .key(.control("c"), _) = input { true } else { false }
        }
    }

    /// The next input, if there is one.
    mutating func next() -> Input? { isStopped ? nil : held.popFirst() }

    /// Adds keys that came together.
    mutating func add(_ keys: [Key]) {
        let keys = Self.joined(keys)
        for (index, key) in keys.enumerated() where held.count < Self.heldLimit {
            held.append(.key(key, isLast: index == keys.count - 1))
        }
    }

    /// Joins keys that came in one piece into one insertion. They may be a paste without its marks.
    private static func joined(_ keys: [Key]) -> [Key] {
        var joined: [Key] = []
        var run = String.UnicodeScalarView()
        func close() {
            if let only = run.first, run.count == 1 { joined.append(.text(only)) }
            if run.count > 1 { joined.append(.paste(String(run))) }
            run = String.UnicodeScalarView()
        }
        for key in keys {
            if case .text(let scalar) = key {
                run.append(scalar)
            } else {
                close()
                joined.append(key)
            }
        }
        close()
        return joined
    }
}
