import Inkling
import InklingModel

/// Decides whether a node may join a chat of a certain name. The names that chats of the state directory had before decide
///
///
/// A user could send a secret to an open chat because it has the name of a private one. So the node joins an open chat
/// whose name equals or resembles a private chat's only if the user confirms it. The same holds for a private chat whose
/// name resembles that of another chat.
package struct NameKeeper {
    /// The chat that commands without a chat's name join.
    package static let defaultName = "lobby"

    /// The names of chats that commands without a chat's name join.
    private let defaults: [String]
    private let names: () -> ChatNames
    /// Why names may be missing from the list; nil if all are there.
    private let fault: String?
    /// Keeps the name of a chat, and calls back with nil or the reason for the failure; nil for a node that leaves no trace.
    private let keep: ((Chat, @escaping (String?) -> Void) -> Void)?

    /// Makes a keeper of the names.
    ///
    /// - Parameters:
    ///   - settledName: The open chat that the settings name; nil if they name none.
    ///   - fault: Why names may be missing; a clause.
    ///   - keep: Keeps the name of a chat. The callback gets nil, or the reason for the failure. Nil for a node that leaves
    ///     no trace.
    package init(
        settledName: String? = nil, fault: String? = nil, keep: ((Chat, @escaping (String?) -> Void) -> Void)? = nil,
        names: @escaping () -> ChatNames
    ) {
        defaults = [Self.defaultName] + (settledName.map { [$0] } ?? [])
        (self.names, self.fault, self.keep) = (names, fault, keep)
    }

    /// Returns why the user has to confirm a chat's name; nil if nothing speaks against it.
    package func doubt(about chat: Chat) -> NodeError? {
        let names = names()
        guard !chat.isOpen else {
            if let other = ChatNames.alike(chat.name, in: names.privateNames) { return Self.openName(chat, of: other) }
            guard let fault, !names.contains(chat.name, isOpen: true) else { return nil }
            return Self.unknown(chat, fault)
        }
        guard !names.contains(chat.name, isOpen: false) else { return nil }
        if let other = ChatNames.alike(chat.name, in: defaults + names.openNames) {
            return Self.privateName(chat, like: other)
        }
        return ChatNames.alike(chat.name, in: names.privateNames).map { Self.similarName(chat, to: $0) }
    }

    /// Decides whether the node may join a chat, and keeps its name.
    ///
    /// - Parameters:
    ///   - isConfirmed: Whether the user confirmed that this chat has this name.
    ///   - isKept: Whether the name is kept with the chat itself, in one write.
    ///   - completion: Called with the reason why not; nil if the name is kept.
    package func refusal(
        of chat: Chat, isConfirmed: Bool, isKept: Bool = false, _ completion: @escaping (NodeError?) -> Void
    ) {
        if !isConfirmed, let error = doubt(about: chat) { return completion(error) }
        let names = names()
        guard let keep, !names.contains(chat.name, isOpen: chat.isOpen) else { return completion(nil) }
        // No secret depends on an open chat's name, so the node does not wait for the disk, and a failure does not matter.
        guard !chat.isOpen else {
            keep(chat) { _ in }
            return completion(nil)
        }
        guard names.privateNames.count < ChatNames.privateLimit else {
            return completion(
                .other(
                    code: "name-not-kept",
                    text:
                        "\(ChatNames.privateLimit) private chats have had names here, and there is no room for another. "
                        + "Use the name of one of these for it, or another --state-dir."))
        }
        guard !isKept else { return completion(nil) }
        keep(chat) { reason in
            completion(
                reason.map {
                    .other(
                        code: "name-not-kept",
                        text:
                            "The name \"\(chat.name)\" can't be kept: \($0). Make room for it, or start with --ephemeral."
                    )
                })
        }
    }

    // MARK: Refusals

    private static func unknown(_ chat: Chat, _ fault: String) -> NodeError {
        .other(
            code: "names-unknown",
            text:
                "\(fault), so nobody knows whether \"\(chat.name)\" was a private chat. Give the invite; or confirm that you "
                + "mean the chat that anybody can read: --open at a command, \"confirm\":true in JSON.")
    }

    private static func openName(_ chat: Chat, of other: String) -> NodeError {
        let was =
            other == chat.name
            ? "A private chat of yours had the name \"\(other)\""
            : "\"\(chat.name)\" looks like \"\(other)\", a private chat of yours"
        return .other(
            code: "private-name",
            text: "\(was). To use it, start the daemon that keeps it, give its invite, or /talk again. To use the open "
                + "chat instead, which anybody can read, confirm that: --open at a command, \"confirm\":true in JSON.")
    }

    private static func privateName(_ chat: Chat, like other: String) -> NodeError {
        let reason =
            other == defaultName
            ? "\"\(other)\" is the chat of commands that name none"
            : "\"\(other)\" is the name of an open chat of yours"
        return .other(
            code: "open-name",
            text: "The private chat would be called \"\(chat.name)\" here, but \(reason). \(advice)")
    }

    private static func similarName(_ chat: Chat, to other: String) -> NodeError {
        .other(
            code: "similar-name",
            text: "\"\(chat.name)\" looks like \"\(other)\", another private chat of yours. \(advice)")
    }

    private static let advice =
        "To confirm its name: NAME --invite INVITE at a command, \"confirm\":true in JSON. Or give the secret with another "
        + "name."
}
