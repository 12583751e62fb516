import ArgumentParser
import Inkling
import InklingModel

/// The options of commands that need a daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the daemon of this state directory (default: inkling in $XDG_STATE_HOME or ~/.local/state).",
            valueName: "dir"),
        completion: .directory)
    var stateDir: String?

    /// Asks the daemon for one answer.
    ///
    /// - Returns: the answer, the identity of the daemon's node, and the version of its program.
    /// - Throws: `CommandFailure` if no daemon runs, and an `ExitCode` if the daemon refuses the request.
    func ask(_ request: ServiceRequest) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        try Self.ask(request, stateDirectory: stateDir)
    }

    /// Asks the daemon of a state directory; of the default one for nil.
    static func ask(
        _ request: ServiceRequest, stateDirectory: String?
    ) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        let connection: DaemonConnection
        do throws(DaemonConnection.Failure) {
            connection = try DaemonConnection(stateDirectory: stateDirectory)
        } catch {
            throw CommandFailure(text: error.text)
        }
        return try ask(request, of: connection)
    }

    /// Asks the daemon at the other end of a connection.
    static func ask(
        _ request: ServiceRequest, of connection: DaemonConnection
    ) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        let session = try ChatProgram.runCommand(try ChatSettings(asking: connection)) { host, node in
            QuestionSession(host, node, request)
        }
        guard let answer = session.answer else { throw ExitCode(1) }
        return (answer, session.identity, session.version)
    }
}

extension ChatSettings {
    /// The settings of a command that asks a daemon and joins no chat.
    fileprivate init(asking daemon: DaemonConnection) throws {
        self.init(
            node: Configuration(name: ""), chat: try Chat("lobby"), arguments: "", mode: .plain, indicator: .standard,
            reducedMotion: true, decorated: false, logLevel: .error, daemon: daemon)
    }
}
