import ArgumentParser
import Glibc
import InklingText

/// The choice between a daemon's node and the command's own node.
struct AttachmentOptions: ParsableArguments {
    @Flag(help: "Use a node of this command's own, also where a daemon runs.")
    var standalone = false

    @Flag(help: "Use the daemon's node, and fail where none runs.")
    var attach = false

    func validate() throws {
        guard !(standalone && attach) else {
            throw ValidationError("--standalone and --attach are mutually exclusive.")
        }
    }

    /// The daemon to attach to; nil for a node of the command's own.
    ///
    /// - Parameter node: the options of the command's own node, which a daemon's node can't follow.
    func daemon(_ node: NodeOptions) throws -> DaemonConnection? {
        guard !standalone else { return nil }
        guard node.ownWords.isEmpty else { return try refuse(node) }
        do throws(DaemonConnection.Failure) {
            return try DaemonConnection(stateDirectory: node.stateDir)
        } catch {
            guard attach || error.isDaemon else { return nil }
            throw CommandFailure(text: error.text)
        }
    }

    /// Refuses options that only the command's own node can follow. The refusal starts no daemon.
    private func refuse(_ node: NodeOptions) throws -> DaemonConnection? {
        switch DaemonSearch(stateDirectory: node.stateDir) {
        case .found(let connection): connection.close()
        case .failure(let failure) where failure.isDaemon: break
        case .noNode, .failure:
            guard attach else { return nil }
        }
        let words = node.ownWords
        let option = words.count == 1 ? words[0] : "these options"
        throw CommandFailure(
            text: "\(attach ? "a daemon is to be used" : "a daemon runs here"), and \(option) can only be given to it: "
                + "inkling daemon \(words.joined(separator: " "))\(node.name == nil ? "" : " (or /nick at the prompt)"); "
                + "for a node of this command's own \(attach ? "use" : "add") --standalone, and --ephemeral for an "
                + "identity of its own too",
            status: 64)
    }
}
