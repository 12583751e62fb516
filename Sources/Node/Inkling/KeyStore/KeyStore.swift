import Glibc
import InklingModel
import InklingWire
import Synchronization

/// The identity of a node: its private key, and the lock on the directory that keeps it.
///
/// The directory holds `identity`, the key, `known-peers.json`, the people its nodes have met, and `lock`, an
/// empty file on which the running node has an advisory lock. The system drops the lock when the process ends, however it does.
package final class KeyStore: Sendable {
    /// The static key pair. The library of ciphers overwrites it when the node and this store are gone.
    package let identity: KeyPair
    /// The state directory, locked for this node until ``close()`` unless it is shared; nil if the identity is
    /// temporary.
    package let directory: String?
    /// Why the identity is temporary; nil if it is kept.
    package let temporary: TemporaryIdentity?
    private let lock: Mutex<StateDirectory?>

    /// Opens the state directory, makes it and the identity if need be, and locks it.
    ///
    /// `directory` is the one the user named; without it, `inkling` in `XDG_STATE_HOME`, or `.local/state/inkling`
    /// in the home directory. A directory that is made, is empty, or is the default one gets mode 0700; the key
    /// file has 0600. Where nothing can be kept the identity is temporary; what would put an identity at risk is an
    /// error.
    package static func open(directory: String?) throws(StateDirectoryFault) -> KeyStore {
        guard let path = directory ?? defaultDirectory else { return KeyStore(temporary: .noHome) }
        switch try StateDirectory.open(path, isNamed: directory != nil) {
        case .locked(let state):
            do {
                switch try state.identity() {
                case .kept(let identity): return KeyStore(identity: identity, state: state)
                case .unwritable(let reason):
                    state.close()
                    return KeyStore(temporary: .unwritable(directory: path, reason: reason))
                }
            } catch {
                state.close()
                throw error
            }
        case .inUse: return KeyStore(temporary: .inUse(directory: path))
        case .unwritable(let reason): return KeyStore(temporary: .unwritable(directory: path, reason: reason))
        }
    }

    /// Opens the state directory as a further device of the same person does: with the identity that is kept there,
    /// also while another node has the directory. Where there is no identity yet one is made.
    package static func openShared(directory: String?) throws(StateDirectoryFault) -> KeyStore {
        if let path = directory ?? defaultDirectory, let identity = try StateDirectory.existingKey(path) {
            return KeyStore(identity: identity, directory: path)
        }
        let store = try open(directory: directory)
        store.close()
        return store
    }

    /// Whether a node uses a state directory, in whatever process. Nothing is made or changed there.
    ///
    /// - Parameter directory: The one that the user named; nil for the default one.
    package static func isInUse(directory: String?) -> Bool {
        (directory ?? defaultDirectory).map { StateDirectory.isInUse($0) } ?? false
    }

    private init(identity: KeyPair, directory: String) {
        self.identity = identity
        self.directory = directory
        temporary = nil
        lock = Mutex(nil)
    }

    private init(identity: KeyPair, state: StateDirectory) {
        self.identity = identity
        directory = state.path
        temporary = nil
        lock = Mutex(state)
    }

    private init(temporary: TemporaryIdentity) {
        identity = Identity.random()
        directory = nil
        self.temporary = temporary
        lock = Mutex(nil)
    }

    deinit {
        close()
    }

    /// Where known peers can be read, and whether they can be written there too.
    package var knownPeers: (directory: String, isWritable: Bool)? {
        switch temporary {
        case nil: directory.map { ($0, true) }
        case .inUse(let directory): (directory, true)
        case .unwritable(let directory, _): (directory, false)
        case .noHome: nil
        }
    }

    /// Lets another node use the directory.
    package func close() {
        lock.withLock { $0.take() }?.close()
    }

    /// Where the state is kept if the user names no directory.
    static var defaultDirectory: String? {
        if let state = environment("XDG_STATE_HOME") { return "\(state)/inkling" }
        return (environment("HOME") ?? registeredHome).map { "\($0)/.local/state/inkling" }
    }

    /// The user's home by the system's list of users.
    private static var registeredHome: String? {
        getpwuid(getuid())?.pointee.pw_dir.flatMap { String(validatingCString: $0) }
    }

    /// Whether a process of root's would keep something in another user's state directory, or make one in their home:
    /// the owner could not use it from then on.
    package static func isAnothers(_ directory: String?) -> Bool {
        guard geteuid() == 0, let path = directory ?? defaultDirectory else { return false }
        if let owner = owner(of: "\(path)/identity") { return owner != 0 || self.owner(of: path) != 0 }
        var place = path[...]
        while owner(of: String(place)) == nil, let slash = place.lastIndex(of: "/"), place != "/" {
            place = slash == place.startIndex ? "/" : place[..<slash]
        }
        if let owner = owner(of: String(place)), owner != 0 { return true }
        guard let home = environment("HOME"), path.hasPrefix("\(home)/") else { return false }
        return owner(of: home).map { $0 != 0 } ?? false
    }

    /// Nil if nothing is there.
    private static func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    /// The absolute path in a variable.
    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name), let path = String(validatingCString: value) else { return nil }
        return path.hasPrefix("/") ? path : nil
    }
}
