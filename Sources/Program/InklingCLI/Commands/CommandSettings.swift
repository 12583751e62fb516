import Inkling
import InklingText
import Logging

/// The settings of commands that are in a chat for a short time. Such a command shares the identity with an open chat
/// of the user, so peers see one person.
extension ChatOptions {
    /// Returns the settings of a command.
    ///
    /// - Parameter given: The argument that names the chat; nil if none does.
    func commandSettings(chat given: String?, indicator: IndicatorStyle? = nil) throws -> ChatSettings {
        let file = try settingsOptions.settings()
        let chat = try secrets.chatToJoin(given, default: file.chat)
        var node = self.node.configuration(file, isCommand: true)
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
