import InklingModel
import InklingText

/// How a chat is shown.
package struct ChatDisplay: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// A screen that is drawn, below it an input whose keys come one by one.
        case screen
        /// Whole lines, with an input that the terminal itself edits and echoes.
        case lines
        /// Whole lines; each line of the input is a message.
        case pipe
    }

    package var form: Form
    /// Whether a person reads, who can ask for folded messages. Otherwise no message is folded.
    package var folds: Bool
    package var indicator: IndicatorStyle
    package var reducedMotion: Bool
    /// Whether bold and dim are wanted.
    package var decorated: Bool
    /// Whether the terminal rings when somebody mentions the user.
    package var ringsForMentions: Bool
    /// Whether the node is a process of its own: the session waits for it when it goes.
    package var outlivesNode: Bool
    /// Whether the user confirmed the name of the chat to begin with.
    package var confirmsName: Bool
    /// Whether to explain the prompt, to a user who has not entered a line yet.
    package var explains: Bool

    package init(
        form: Form, folds: Bool, indicator: IndicatorStyle = .standard, reducedMotion: Bool = false,
        decorated: Bool = false, ringsForMentions: Bool = false, outlivesNode: Bool = false,
        confirmsName: Bool = false, explains: Bool = false
    ) {
        self.form = form
        self.folds = folds
        self.indicator = indicator
        self.reducedMotion = reducedMotion
        self.decorated = decorated
        self.ringsForMentions = ringsForMentions
        self.outlivesNode = outlivesNode
        self.confirmsName = confirmsName
        self.explains = explains
    }

    /// Whether own messages are shown as lines: a terminal that echoes has shown them.
    var showsOwn: Bool { form != .lines }
    /// Whether the terminal rings; a pipe has none.
    var rings: Bool { ringsForMentions && form != .pipe }
    /// Whether lines carry the time.
    var showsTimes: Bool { form == .screen }
}

/// The texts that depend on the program and its system.
package struct ChatTexts: Sendable {
    /// A time of day, where the user is.
    package var localTime: @Sendable (Timestamp) -> LocalTime
    /// An error and what to do about it, in one line.
    package var error: @Sendable (NodeError) -> String
    /// A notice and what to do about it, in one line.
    package var notice: @Sendable (Notice) -> String
    /// Where others can find this node, as a sentence.
    package var reach: @Sendable () -> String
    /// A new secret for a private chat.
    package var newSecret: @Sendable () -> Secret
    /// How a shell names the first chat to a further command, with a blank before it.
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
