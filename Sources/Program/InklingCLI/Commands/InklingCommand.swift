import ArgumentParser
import Inkling
import InklingConsole
import InklingText
import Logging

/// The version in `--version`, in `ready`, on the control socket, and in the name of the package.
let programVersion = "0.3.0"

package struct InklingCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "inkling",
        abstract: "Chat on the local network and see who is typing, without a server.",
        discussion: """
            inkling chat                  joins the open chat "lobby"
            inkling invite team           makes a private chat, prints its invite
            inkling chat --invite INVITE  joins the chat of an invite
            inkling doctor                finds out why two machines don't see each other
            """,
        version: programVersion,
        subcommands: [
            ChatCommand.self, InviteCommand.self, PeersCommand.self, SendCommand.self, WatchCommand.self,
            WebCommand.self, TrayCommand.self,
            DaemonCommand.self, StatusCommand.self, StopCommand.self, JoinCommand.self, LeaveCommand.self,
            ChatsCommand.self,
            DoctorCommand.self, IdentityCommand.self, ForgetCommand.self,
        ])

    package init() {}

    /// Returns the number of the first word after the program's name that is not valid UTF-8. `CommandLine.arguments` has
    /// other letters there, and so perhaps the name of another chat (W-33).
    package static func invalidWord(_ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int? {
        var number = 1
        while let word = words[number] {
            if String(validatingCString: word) == nil { return number }
            number += 1
        }
        return nil
    }

    /// Runs the command that the arguments name, and ends the program. The calling thread becomes the event loop of a
    /// node.
    package static func runAndExit() -> Never {
        let words = Array(CommandLine.arguments.dropFirst())
        if let number = invalidWord(CommandLine.unsafeArgv) {
            let text =
                "Word \(number) of the command line is not valid UTF-8. Set the terminal to UTF-8, and type it again."
            exit(withError: CommandFailure(text: text, status: 64).report())
        }
        if let complaint = Suggestion.complaint(about: words) {
            exit(withError: CommandFailure(text: complaint, status: 64).report())
        }
        do {
            var command = try parseAsRoot(DashedMessage.arranged(words))
            try command.run()
            exit()
        } catch let refusal as DashedMessage.Refusal {
            exit(withError: CommandFailure(text: refusal.text, status: 64).report())
        } catch {
            exit(withError: error)
        }
    }
}

/// The reason why the program stops, in one line on standard error.
struct CommandFailure: Error {
    let text: String
    /// The exit status: 64 for a wrong use of the command, else 1.
    var status: Int32 = 1

    /// Prints the reason and returns the exit status.
    func report() -> ExitCode {
        Output.error.write(line: "inkling: " + text)
        return ExitCode(status)
    }

    /// Runs a command, and reports its failure.
    static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure.report()
        } catch let error as NodeError {
            throw CommandFailure(text: SafeText.line(error.text)).report()
        }
    }
}

/// The settings of commands that are in a chat for a short time.
extension ChatOptions {
    /// Returns the settings of a command.
    ///
    /// - Parameter given: The argument that names the chat; nil if none does.
    func commandSettings(chat given: String?, indicator: IndicatorStyle? = nil) throws -> ChatSettings {
        let file = try settingsOptions.settings()
        let chat = try secrets.chatToJoin(given, default: file.chat)
        var node = self.node.configuration(file)
        node.sendsTyping = false
        return ChatSettings(
            node: node, chat: chat, isConfirmed: secrets.confirms(chat, given: given), settledChat: file.openChat,
            arguments: secrets.arguments(naming: chat, given: given), mode: .plain,
            indicator: indicator ?? file.indicator ?? .standard, reducedMotion: true, decorated: false,
            logLevel: self.node.logLevel ?? .error, daemon: try daemon(), interfacesPath: self.node.interfacesPath(file)
        )
    }
}

extension ChatSettings {
    /// The advice for a chat without other people.
    var nobodyText: String {
        "nobody else is in \(SafeText.line(chat.name)) now; find out why with: inkling doctor\(SafeText.line(arguments))"
    }
}

extension Labels {
    /// Labels the people in a chat, and those met there before, as the prompt does.
    init(ownName: String, _ peers: [Peer]) {
        self.init(ownName: ownName)
        for peer in peers { update(Person(peer)) }
    }

    /// Returns the label of a peer, even of one who joined later.
    mutating func marked(_ peer: Peer) -> String {
        update(Person(peer))
        return label(of: peer.user.description).marked
    }
}

/// The advice for a misspelled command.
package enum Suggestion {
    /// Returns the error for an unknown command; nil if the first word is a command.
    ///
    /// - Parameter arguments: the words after the program's name.
    package static func complaint(about arguments: [String]) -> String? {
        complaint(about: arguments[...], in: InklingCommand.self, path: "inkling")
    }

    private static func complaint(
        about arguments: ArraySlice<String>, in command: any ParsableCommand.Type, path: String
    ) -> String? {
        let commands = command.configuration.subcommands
        guard let word = arguments.first, !word.hasPrefix("-"), !commands.isEmpty else { return nil }
        if word == "help" { return complaint(about: arguments.dropFirst(), in: command, path: path) }
        let names = commands.compactMap { $0.configuration.commandName }
        if let index = names.firstIndex(of: word) {
            return complaint(about: arguments.dropFirst(), in: commands[index], path: path + " " + word)
        }
        let advice =
            NearestWord.find(word, among: names + ["help"], mistakes: 2).map { "did you mean: \(path) \($0)" }
            ?? ("the commands are \(names.joined(separator: ", "))"
                + (path == "inkling" && SafeText.line(word) == word
                    ? "; to open a chat: inkling chat\(ShellQuoting.argument(word))" : ""))
        return "there is no command \"\(path) \(SafeText.line(word))\"; \(advice)"
    }
}
