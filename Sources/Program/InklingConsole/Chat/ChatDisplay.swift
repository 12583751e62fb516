import InklingModel
import InklingText

/// How a chat is shown.
package struct ChatDisplay: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// A screen that the program draws. The keys of the input below it come one by one.
        case screen
        /// Whole lines. The terminal itself edits and echoes the input.
        case lines
        /// Whole lines. Each line of the input is a message.
        case pipe
    }

    package var form: Form
    /// Whether a person reads the output, and can ask for folded messages. Otherwise the prompt folds no message.
    package var folds: Bool
    package var indicator: IndicatorStyle
    package var reducedMotion: Bool
    /// Whether to use bold and dim text.
    package var decorated: Bool
    /// Whether the terminal rings when a message mentions the user.
    package var ringsForMentions: Bool
    package var place: NodePlace
    /// Whether the user confirmed the name of the first chat.
    package var confirmsName: Bool
    /// Whether others see that this user types here. The node may not announce it anyway.
    package var sendsTyping: Bool
    /// Whether to show who types.
    package var showsTyping: Bool
    /// Whether to explain the prompt to a user who has never entered a line.
    package var explains: Bool

    package init(
        form: Form, folds: Bool, indicator: IndicatorStyle = .standard, reducedMotion: Bool = false,
        decorated: Bool = false, ringsForMentions: Bool = false, place: NodePlace = .own,
        confirmsName: Bool = false, sendsTyping: Bool = true, showsTyping: Bool = true, explains: Bool = false
    ) {
        self.form = form
        self.folds = folds
        self.indicator = indicator
        self.reducedMotion = reducedMotion
        self.decorated = decorated
        self.ringsForMentions = ringsForMentions
        self.place = place
        self.confirmsName = confirmsName
        self.sendsTyping = sendsTyping
        self.showsTyping = showsTyping
        self.explains = explains
    }

    /// Whether the node is in another process. If it ends, the session waits for it to come back.
    package var isAttached: Bool { place == .prompt || place == .daemon }
    /// Whether the node keeps chats, messages and what waits, for all front ends of the user.
    var keeps: Bool { place != .own }
    /// Whether this user's messages are shown as lines. A terminal that echoes its input has already shown them.
    var showsOwn: Bool { form != .lines }
    /// Whether the terminal rings. A pipe has no bell.
    var rings: Bool { ringsForMentions && form != .pipe }
    /// Whether lines have the time before them.
    var showsTimes: Bool { form == .screen }
}

/// Where the node of a session is.
package enum NodePlace: Sendable {
    /// In this process, without a store. This also stands for any node behind a pipe.
    case own
    /// In this process, with all that the state directory has.
    case holder
    /// In another prompt of the user.
    case prompt
    case daemon
}

extension Notice {
    /// Whether the notice is only for the user of another program, which runs the node and has the option for its port.
    /// An attached front end knows the code alone.
    package var isOfOtherProgram: Bool {
        if case .other(code: "reachable-on-link", _) = self { true } else { false }
    }
}

/// The texts that depend on the program and its system.
package struct ChatTexts: Sendable {
    /// A time of day, where the user is.
    package var localTime: @Sendable (Timestamp) -> LocalTime
    /// An error and what to do about it, in one line.
    package var error: @Sendable (NodeError) -> String
    /// Returns a notice and its advice in one line.
    package var notice: @Sendable (Notice) -> String
    /// Returns a sentence about where others can find this node.
    package var reach: @Sendable () -> String
    /// Returns a new secret for a private chat.
    package var newSecret: @Sendable () -> Secret
    /// The shell arguments by which a further command names the first chat, with a blank before them.
    package var arguments: String

    package init(
        localTime: @escaping @Sendable (Timestamp) -> LocalTime, error: @escaping @Sendable (NodeError) -> String,
        notice: @escaping @Sendable (Notice) -> String, reach: @escaping @Sendable () -> String,
        newSecret: @escaping @Sendable () -> Secret, arguments: String
    ) {
        self.localTime = localTime
        self.error = error
        self.notice = notice
        self.reach = reach
        self.newSecret = newSecret
        self.arguments = arguments
    }
}

/// A value to keep for later runs.
package enum Lasting: Hashable, Sendable {
    /// A line that the user entered. Later runs can recall it.
    case line(String)
    /// The user's name.
    case name(String)
    /// Whether the terminal rings at the user's name.
    case bell(Bool)
    /// Whether the icon of the desktop starts at each login.
    case autostart(Bool)
}

/// An effect that the prompt's model requests from the program.
package enum ChatEffect: Hashable, Sendable {
    /// Adds lines to the history. A screen then draws its block again.
    case show([Line])
    /// Makes a screen draw its block again.
    case draw
    /// A node is asked, after `assign(_:)`. The answer is for the model, now or later. An edit of a draft has no answer.
    case ask(ServiceRequest)
    /// Makes the terminal ring.
    case bell
    /// Clears the screen. A later effect draws it again.
    case clearScreen
    /// Keeps a value for later runs of the program.
    case keep(Lasting)
    /// Stops the program, and the processes that were started together with it. Input waits until `resumed(at:)`.
    case suspend
    /// Writes a line to standard error. The text is safe to show.
    case complain(String)
    /// Ends the session, because the node could not join the first chat. No effect follows.
    case cannotStart(NodeError)
    /// Looks for the lost node. When there is a node again, the program calls `reattached(_:at:)`.
    case reattach
    /// Begins the end of the session, which takes at most ``ChatModel/patience``.
    case beginEnd
    /// Stops the node, because nothing else is left to do. No effect follows.
    case end
}

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

/// A point in time, as a model's driver supplies it.
package struct Moment: Hashable, Sendable {
    /// Milliseconds of a clock that never goes back, and includes sleep of the machine.
    package var steady: Int64
    /// The time of day.
    package var wall: Timestamp

    package init(steady: Int64, wall: Timestamp) {
        self.steady = steady
        self.wall = wall
    }
}

/// The latest messages of a chat since the start of the program, for searches.
package struct Transcript: Sendable {
    /// The number of messages that are kept.
    static let messages = 2_000
    /// The total bytes of messages that are kept.
    static let bytes = 512 * 1_024
    /// The bytes that a message adds to the size of its text.
    private static let bytesPerMessage = 64

    package struct Message: Hashable, Sendable {
        /// The user ID of the author; nil for this user.
        var user: String?
        /// The text as sent, but in NFC.
        var text: String
        var time: LocalTime

        /// Returns whether two messages are the same one, which two clocks may have timed.
        func isSame(as other: Message) -> Bool {
            user == other.user && text == other.text && time.day == other.time.day
                && abs(60 * (time.hour - other.time.hour) + time.minute - other.time.minute) <= 1
        }

        fileprivate var bytes: Int { text.utf8.count + Transcript.bytesPerMessage }
    }

    private var said: ArraySlice<Message> = []
    private var total = 0
    /// Whether earlier messages were forgotten.
    private(set) var isCut = false

    mutating func add(_ message: Message) {
        said.append(message)
        total += message.bytes
        while said.count > Self.messages || total > Self.bytes, let first = said.popFirst() {
            total -= first.bytes
            isCut = true
        }
    }

    /// Returns the messages that contain a text, in order.
    func messages(with text: FoldedText) -> [Message] { said.filter { text.occurs(in: ChatLines.spoken($0.text)) } }
}

/// The dots behind an indicator. They begin again with each new indicator, and end with it.
///
/// Time is in milliseconds of a clock that never goes back.
struct TypingDots: Sendable {
    /// The duration of one step.
    static let stepTime: Int64 = 500

    private var run: Run?

    private struct Run {
        let since: Int64
        var step = 0
        var nextStep: Int64
        /// Whether the screen has drawn the indicator since it fully appeared.
        var hasAppeared = false
    }

    /// The number of the current step, which decides on the dots.
    var step: Int { run?.step ?? 0 }

    /// Returns the time of the next call of `tick(at:)`; nil for none.
    func nextDeadline(reducedMotion: Bool) -> Int64? {
        guard let run, !reducedMotion else { return nil }
        return run.hasAppeared ? run.nextStep : min(run.since + Self.appearance, run.nextStep)
    }

    /// Returns the time for which there has been an indicator.
    func age(at now: Int64) -> Duration { run.map { .milliseconds(now - $0.since) } ?? .zero }

    /// Begins the dots with an indicator, or ends them without one.
    mutating func follow(isShown: Bool, at now: Int64) {
        guard isShown else { return run = nil }
        if run == nil { run = Run(since: now, nextStep: now + Self.stepTime) }
    }

    mutating func tick(at now: Int64) {
        guard var run else { return }
        run.hasAppeared = now >= run.since + Self.appearance
        if now >= run.nextStep {
            run.step += 1
            run.nextStep = now + Self.stepTime
        }
        self.run = run
    }

    private static let appearance =
        IndicatorText.appearance.components.seconds * 1_000
        + IndicatorText.appearance.components.attoseconds / 1_000_000_000_000_000
}
