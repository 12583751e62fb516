import Inkling
import InklingText
import Logging

/// What commands are run with that are in a chat for a while. They share the identity with a chat that the user has open:
/// for the others both are one person.
extension ChatOptions {
    /// - Parameter given: How the chat was named, if it was.
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
    /// What to do when nobody is there.
    var nobodyText: String {
        "nobody else is in \(SafeText.line(chat.name)) now; find out why with: inkling doctor\(SafeText.line(arguments))"
    }
}

extension Labels {
    /// What people in a chat are called, those who were met there before included: as at the prompt.
    init(ownName: String, _ peers: [Peer]) {
        self.init(ownName: ownName)
        for peer in peers { update(Person(peer)) }
    }

    /// The label of somebody who may have come since.
    mutating func marked(_ peer: Peer) -> String {
        update(Person(peer))
        return label(of: peer.user.description).marked
    }
}
