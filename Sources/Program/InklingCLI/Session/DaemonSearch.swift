import Inkling

/// The search for a running daemon of a state directory. The search starts no daemon.
enum DaemonSearch {
    /// No node uses the state directory. So no daemon runs, even if a service manager listens.
    case noNode
    /// A node uses the directory, but the program can't attach to it for this reason.
    case failure(DaemonConnection.Failure)
    case found(DaemonConnection)

    /// Searches for the daemon.
    ///
    /// - Parameter given: the state directory that an option names; nil if none does.
    init(stateDirectory given: String?) {
        guard KeyStore.isInUse(directory: given) else {
            self = .noNode
            return
        }
        do throws(DaemonConnection.Failure) {
            self = .found(try DaemonConnection(stateDirectory: given))
        } catch {
            self = .failure(error)
        }
    }
}
