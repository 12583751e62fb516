import ArgumentParser
import Inkling
import InklingModel
import InklingText

/// The options of all commands that use a node in a chat, their own or a daemon's.
struct ChatOptions: ParsableArguments {
    @OptionGroup var secrets: SecretOptions

    @OptionGroup var node: NodeOptions

    @OptionGroup var attachment: AttachmentOptions

    var settingsOptions: SettingsOptions { node.settingsOptions }

    /// The daemon to attach to; nil for a node of the command's own.
    func daemon() throws -> DaemonConnection? { try attachment.daemon(node) }

    /// Refuses wrong options early, as far as the command can tell without reading a file.
    ///
    /// - Parameter isForProgram: Whether a program runs the command. A program may use any names and paths.
    func validate(chat: String?, isForProgram: Bool = false) throws {
        if !isForProgram, let name = node.name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
            throw ValidationError(SafeText.line(NodeError.name(fault).text))
        }
        try secrets.validate(chat: chat, isForProgram: isForProgram)
    }
}
