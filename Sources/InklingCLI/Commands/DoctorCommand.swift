import ArgumentParser
import Inkling
import InklingControl
import Logging

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why two machines don't see each other.",
        discussion: """
            Run it on both machines, with the same chat and options as the chat itself, while somebody else is in \
            the chat. It takes a few seconds; meanwhile you appear in the chat as away. As root it also reads the \
            firewall's rules, and writes nothing to another user's home. The exit status is 0 if all is \
            well, and 1 if there are problems.

            inkling doctor kitchen
            inkling doctor kitchen --port 40123
            sudo -E inkling doctor --invite-file kitchen.txt
            inkling doctor --json | jq '.checks[] | select(.status == "problem")'
            """)

    @Argument(help: "The name of the chat, or its invite (default: lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var options: NodeOptions

    func validate() throws { try options.validate(chat: chat) }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try options.settingsOptions.settings()
            let chat = try options.chatToJoin(chat, default: settings.chat)
            let doctor = Doctor(
                configuration: options.configuration(settings, isCommand: true), chat: chat,
                arguments: options.arguments(naming: chat, given: self.chat), options: options.words,
                logLevel: options.logLevel ?? .critical, isTalking: !json)
            let findings = try doctor.run()
            let problems = findings.count { $0.status == .problem }
            if json {
                try Output.standard.answer(
                    json: [
                        ("ok", .boolean(problems == 0)), ("chat", .string(chat.name)),
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
            }
            if problems > 0 { throw ExitCode(1) }
        }
    }
}
