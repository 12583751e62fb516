import Inkling

/// Whether a daemon of a state directory runs, for those who only want to know: they start none.
enum DaemonSearch {
    /// No node uses the state directory, so none runs, whoever listens for it.
    case noNode
    /// A node uses it, and it is not a daemon that can be attached to, for this reason.
    case failure(DaemonConnection.Failure)
    case found(DaemonConnection)

    /// - Parameter given: the state directory that an option names; nil where none does.
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
