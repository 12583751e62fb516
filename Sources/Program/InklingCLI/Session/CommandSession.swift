import Glibc
import InklingModel
import NIOCore

/// A session of a command that runs for a short time, and writes its answer after its end.
protocol CommandSession: Session {
    var host: SessionHost { get }
    /// Gives up all further work.
    func abandon()
}

extension ServiceEnd {
    /// The text about the end of the daemon's node, as the beginning of a sentence.
    var text: String {
        switch self {
        case .stopped, .lost: "the daemon has ended"
        case .tooSlow: "the daemon gave this program up, because nothing was taken here for too long"
        case .silent: "the daemon does not answer"
        }
    }
}

extension CommandSession {
    /// Ends the program by the signal itself, so that a loop in a shell stops too.
    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP:
            abandon()
            host.finish(by: signal)
        default: break
        }
    }

    /// Does nothing. The command notices a closed output when it writes the answer.
    func outputAbandoned() {}

    var longestAnswer: TimeAmount? { SessionHost.longestAnswer }
}
