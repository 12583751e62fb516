/// The user's input: bytes become keys, and keys a text in the editor. Input waits here until it can be processed.
///
/// Time is in milliseconds of a clock that never goes back.
struct Keyboard: Sendable {
    /// How long an Escape waits for the rest of a key's sequence.
    static let escapeWait: Int64 = 50
    /// How long a paste waits for its next bytes, should its end never come.
    static let pasteWait: Int64 = 1_000
    /// How many keys and lines wait for an answer; further ones are lost.
    static let heldLimit = 4_096

    /// One step of input.
    enum Input: Sendable {
        /// - Parameter isLast: whether no other key came with it.
        case key(Key, isLast: Bool)
        case line(String)
    }

    var editor = LineEditor()
    var completion = Completion()
    /// Whether the program is about to be stopped, so that what was typed is for after that.
    var isStopped = false
    private var decoder = KeyDecoder()
    private var held: ArraySlice<Input> = []
    private var escapeAt: Int64?

    /// When to call `tick(at:)`, if at all.
    var nextDeadline: Int64? { escapeAt }

    /// Takes the bytes of a terminal, and returns the keys that they complete.
    mutating func decode(_ bytes: some Sequence<UInt8>, at now: Int64) -> [Key] {
        defer {
            escapeAt = decoder.isPasting ? now + Self.pasteWait : decoder.isWaiting ? now + Self.escapeWait : nil
        }
        return decoder.feed(bytes)
    }

    /// Takes a line that was entered.
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

    /// Takes keys that came together.
    mutating func add(_ keys: [Key]) {
        let keys = Self.joined(keys)
        for (index, key) in keys.enumerated() where held.count < Self.heldLimit {
            held.append(.key(key, isLast: index == keys.count - 1))
        }
    }

    /// Joins keys that came in one piece, without the marks of a paste, into one insertion.
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
