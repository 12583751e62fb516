import InklingModel

extension FailureReason {
    /// The reason in a few words, such as "out of reach".
    public var words: String {
        switch self {
        case .bye: "left"
        case .quit, .left: "you left"
        case .silence: "out of reach"
        case .will: "quit"
        case .stalled: "did not answer"
        case .full: "too many links"
        // One of the two nodes was restarted, or stopped for longer than peers wait.
        case .lostState: "connection lost"
        case .replaced: "restarted"
        case .blocked: "blocked"
        case .givenUp: "given up"
        case .noRoom: "too many messages wait"
        }
    }
}
