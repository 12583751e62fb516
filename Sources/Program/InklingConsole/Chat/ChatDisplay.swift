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
    /// Whether the node is a separate process. If it ends, the session waits for it to come back.
    package var outlivesNode: Bool
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
        decorated: Bool = false, ringsForMentions: Bool = false, outlivesNode: Bool = false,
        confirmsName: Bool = false, sendsTyping: Bool = true, showsTyping: Bool = true, explains: Bool = false
    ) {
        self.form = form
        self.folds = folds
        self.indicator = indicator
        self.reducedMotion = reducedMotion
        self.decorated = decorated
        self.ringsForMentions = ringsForMentions
        self.outlivesNode = outlivesNode
        self.confirmsName = confirmsName
        self.sendsTyping = sendsTyping
        self.showsTyping = showsTyping
        self.explains = explains
    }

    /// Whether this user's messages are shown as lines. A terminal that echoes its input has already shown them.
    var showsOwn: Bool { form != .lines }
    /// Whether the terminal rings. A pipe has no bell.
    var rings: Bool { ringsForMentions && form != .pipe }
    /// Whether lines have the time before them.
    var showsTimes: Bool { form == .screen }
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
