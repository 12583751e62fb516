import Glibc
import InklingModel
import NIOCore

/// A session of a command that is there for a moment, and whose answer is written when it is over.
protocol CommandSession: Session {
    var host: SessionHost { get }
    /// Nothing more is to be done.
    func abandon()
}

extension ServiceEnd {
    /// That the daemon's node is there no more, as the beginning of a sentence.
    var text: String {
        switch self {
        case .stopped, .lost: "the daemon has ended"
        case .tooSlow: "the daemon gave this program up, because nothing was taken here for too long"
        case .silent: "the daemon does not answer"
        }
    }
}

extension CommandSession {
    /// A signal that ends it ends the program as a signal does, so that a loop in a shell stops too.
    func take(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP:
            abandon()
            host.end(by: signal)
        default: break
        }
    }

    /// Nothing is written meanwhile: that nobody reads the answer shows when it is.
    func outputAbandoned() {}

    var longestAnswer: TimeAmount? { SessionHost.longestAnswer }
}
