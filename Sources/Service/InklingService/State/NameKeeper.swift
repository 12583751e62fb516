import Glibc
import Inkling
import InklingModel
import NIOCore
import NIOPosix

/// Decides whether a node may join a chat of a certain name. The names that chats of the state directory had before decide
///
///
/// A user could send a secret to an open chat because it has the name of a private one. So the node joins an open chat
/// whose name equals or resembles a private chat's only if the user confirms it. The same holds for a private chat whose
/// name resembles that of another chat.
package struct NameKeeper: Sendable {
    package static let fileName = "chat-names.json"
    /// The chat that commands without a chat's name join.
    package static let defaultName = "lobby"

    /// The state directory; nil if there is none.
    private let directory: String?
    /// The names of chats that commands without a chat's name join.
    private let defaults: [String]
    /// Whether to store the names of this node's chats.
    private let remembers: Bool
    private let file: StateFile?

    /// Makes a keeper of the names.
    ///
    /// - Parameters:
    ///   - directory: The state directory; nil if there is none.
    ///   - settledName: The open chat that the settings name; nil if they name none.
    ///   - remembers: False for a node that leaves no trace.
    package init(in directory: String?, settledName: String? = nil, remembers: Bool = true) {
        self.directory = directory
        self.remembers = remembers
        defaults = [Self.defaultName] + (settledName.map { [$0] } ?? [])
        file = directory.map { StateFile(directory: $0, name: Self.fileName, newName: "chat-names.new") }
    }

    /// Returns why the user has to confirm a chat's name; nil if nothing speaks against it.
    package func doubt(about chat: Chat) -> NodeError? {
        let (names, fault) = list
        return doubt(about: chat, names, fault)
    }

    /// Returns why the node may not join a chat, or stores its name and returns nil.
    ///
    /// - Parameter isConfirmed: Whether the user confirmed that this chat has this name.
    package func refusal(of chat: Chat, isConfirmed: Bool) -> NodeError? {
        let (names, fault) = list
        if !isConfirmed, let error = doubt(about: chat, names, fault) { return error }
        guard fault == nil, remembers else { return nil }
        return remember(chat)
    }

    /// Decides as ``refusal(of:isConfirmed:)``. If the name is new, a thread waits for other processes and stores it.
    ///
    /// - Parameters:
    ///   - threads: Returns a pool of one thread, so that no two names are stored at once.
    ///   - completion: Called on the event loop.
    package func refusal(
        of chat: Chat, isConfirmed: Bool, on eventLoop: any EventLoop, threads: @autoclosure () -> NIOThreadPool,
        _ completion: @escaping (NodeError?) -> Void
    ) {
        guard remembers, directory != nil, !isKnown(chat) else {
            return completion(refusal(of: chat, isConfirmed: isConfirmed))
        }
        threads().runIfActive(eventLoop: eventLoop) { refusal(of: chat, isConfirmed: isConfirmed) }
            .assumeIsolated().whenSuccess(completion)
    }

    private func doubt(about chat: Chat, _ names: ChatNames, _ fault: String?) -> NodeError? {
        let privateNames = names.privateNames + keptNames
        let isAlike = { ChatNames.areAlike($0, chat.name) }
        guard !chat.isOpen else {
            if let fault { return Self.unknown(chat, fault) }
            return privateNames.first(where: isAlike).map { Self.openName(chat, of: $0) }
        }
        guard fault == nil, !privateNames.contains(chat.name) else { return nil }
        if let other = (defaults + names.openNames).first(where: isAlike) { return Self.privateName(chat, like: other) }
        return privateNames.first(where: isAlike).map { Self.similarName(chat, to: $0) }
    }

    private var list: (names: ChatNames, fault: String?) {
        guard let directory, let file else { return (ChatNames(), nil) }
        let path: (String) -> String = { "\(directory)/\($0)" }
        switch KeptChatsFile(in: directory).read() {
        case .missing, .chats: break
        case .damaged: return (ChatNames(), "\(path(KeptChatsFile.name)) is damaged")
        case .newer: return (ChatNames(), "\(path(KeptChatsFile.name)) is of a later version of Inkling")
        case .unreadable(let reason): return (ChatNames(), "\(path(KeptChatsFile.name)) can't be read: \(reason)")
        }
        do throws(StateFile.Failure) {
            let bytes = try file.read()
            do throws(KeptChats.Fault) {
                return (try ChatNames(bytes), nil)
            } catch {
                let what = error == .newer ? "is of a later version of Inkling" : "is damaged"
                return (ChatNames(), "\(path(Self.fileName)) \(what)")
            }
        } catch {
            return switch error {
            case .missing: (ChatNames(), nil)
            case .damaged: (ChatNames(), "\(path(Self.fileName)) is damaged")
            // If this user can't open the folder, no node of this user runs in it.
            case .unreadable(let reason): (ChatNames(), "\(path(Self.fileName)) can't be read: \(reason)")
            }
        }
    }

    /// The private chats kept by a release that had no list of names.
    private var keptNames: [String] {
        guard let directory, case .chats(let chats, _) = KeptChatsFile(in: directory).read() else { return [] }
        return chats.filter { !$0.isOpen }.map(\.name)
    }

    /// Adds the name of a chat to the list on disk.
    private func remember(_ chat: Chat) -> NodeError? {
        guard let directory, let file, !isKnown(chat) else { return nil }
        // Other processes share the directory, and each reads the list before it writes. The lock makes them take
        // turns.
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        defer { close(folder) }
        flock(folder, LOCK_EX)
        var (names, fault) = list
        guard fault == nil, !isKnown(chat, in: names) else { return nil }
        if chat.isOpen {
            names.addOpen(chat.name)
            // No secret depends on an open chat's name, so a failed write does not matter.
            _ = file.write(names.bytes)
            return nil
        }
        guard names.privateNames.count < DaemonLimits.privateNames else {
            return .other(
                code: "name-not-kept",
                text: "\(directory)/\(Self.fileName) has \(DaemonLimits.privateNames) names of private chats, and no "
                    + "room for another. Remove those from it that no command of yours uses.")
        }
        names.privateNames.append(chat.name)
        guard let reason = file.write(names.bytes) else { return nil }
        // If the directory is not writable, the node has a temporary identity, and has already reported that.
        guard access(directory, W_OK) == 0 else { return nil }
        return .other(
            code: "name-not-kept",
            text: "\(directory)/\(Self.fileName) can't be written: \(reason). Make room for it, or start with "
                + "--ephemeral.")
    }

    private func isKnown(_ chat: Chat) -> Bool { isKnown(chat, in: list.names) }

    private func isKnown(_ chat: Chat, in names: ChatNames) -> Bool {
        (chat.isOpen ? names.openNames : names.privateNames).contains(chat.name)
    }

    // MARK: Refusals

    private static func unknown(_ chat: Chat, _ fault: String) -> NodeError {
        .other(
            code: "names-unknown",
            text:
                "\(fault), so nobody knows whether \"\(chat.name)\" was a private chat. Repair or remove that file, or "
                + "give the invite; or confirm that you mean the chat that anybody can read: --open at a command, "
                + "\"confirm\":true in JSON.")
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
