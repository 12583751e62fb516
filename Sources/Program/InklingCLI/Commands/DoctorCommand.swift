import ArgumentParser
import Inkling
import InklingService
import Logging

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why two machines don't see each other.",
        discussion: """
            Run it on both machines, with the same chat and options as the chat itself, while somebody else is in \
            the chat. It takes a few seconds; meanwhile it is in the chat itself, as "doctor" with a number and an \
            identity of its own, unless your daemon runs, which it asks. As root it also reads the \
            firewall's rules, and writes nothing to another user's home. It ends with one sentence \
            that you can read to the other person on the telephone. The exit status is 0 if all is well, and 1 if there \
            are problems.

            inkling doctor kitchen
            inkling doctor kitchen --port 40123
            sudo -E inkling doctor --invite-file kitchen.txt
            inkling doctor --json | jq '.checks[] | select(.status == "problem")'
            """)

    @Argument(help: "The name of the chat, or its invite (default: that in the settings, else lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var options: ChatOptions

    private var given: String? { chat ?? ChatSettings.environment("INKLING_DOCTOR_CHAT") }

    func validate() throws { try options.validate(chat: given, isForProgram: chat == nil && given != nil) }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try options.settingsOptions.settings()
            let chat = try options.secrets.chatToJoin(given, default: settings.chat)
            let configuration = options.node.configuration(settings)
            let user = DoctorUser(stateDirectory: configuration.stateDirectory)
            let arguments = options.secrets.arguments(naming: chat, given: given)
            let (daemon, ofDaemons) = try daemon(of: user, arguments: options.node.words + arguments)
            let doctor = Doctor(
                configuration: configuration, chat: chat, user: user, daemon: daemon, ofDaemons, arguments: arguments,
                options: options.node.words,
                logLevel: options.node.logLevel ?? .critical, isTalking: !json)
            let findings = try doctor.run()
            let problems = findings.count { $0.status == .problem }
            if json {
                try Output.standard.answer(
                    json: [
                        ("ok", .boolean(problems == 0)), ("chat", .string(chat.name)),
                        ("version", .string(programVersion)), ("summary", .string(doctor.summary)),
                        ("checks", .array(findings.map(\.value))),
                    ])
            } else {
                let end =
                    switch problems {
                    case 0: "No problems were found."
                    case 1: "There is 1 problem."
                    default: "There are \(problems) problems. Begin with the first."
                    }
                try Output.standard.answer(end)
                try Output.standard.answer("To read out on the telephone: \(doctor.summary)")
            }
            if problems > 0 { throw ExitCode(1) }
        }
    }

    /// Returns the running daemon, if any, and the findings about daemons. Unlike other commands, the doctor starts no
    /// daemon.
    private func daemon(of user: DoctorUser, arguments: String) throws -> (DaemonConnection?, [Finding]) {
        guard !options.attachment.standalone else { return (nil, []) }
        // If root runs the doctor for a user, root can't use the user's daemon.
        let others = user.other.flatMap { other in
            user.othersNode.map { Finding.daemon(of: other.name, $0, arguments: arguments) }
        }
        if user.isOthersDirectory, !options.attachment.attach { return (nil, [others].compactMap { $0 }) }
        guard !options.attachment.attach, options.node.ownWords.isEmpty else {
            let daemon = try options.daemon()
            return (daemon, [daemon.flatMap { Self.finding($0, user) }].compactMap { $0 })
        }
        let (daemon, own): (DaemonConnection?, Finding?) =
            switch DaemonSearch(stateDirectory: options.node.stateDir) {
            case .noNode: (nil, .noDaemon(isNodeThere: false, ofRoot: user.isRoot))
            case .failure(let failure):
                (
                    nil,
                    .daemon(
                        failure, ofRoot: user.isRoot, isManaged: ServiceUnit.isManagedForUser("inkling"))
                )
            case .found(let daemon): (daemon, Self.finding(daemon, user))
            }
        return (daemon, [own, others].compactMap { $0 })
    }

    private static func finding(_ daemon: DaemonConnection, _ user: DoctorUser) -> Finding? {
        daemon.daemon.map {
            .daemon(
                version: $0.version, program: programVersion, port: $0.port, isHolder: $0.isHolder, ofRoot: user.isRoot)
        }
    }
}
