import Glibc
import InklingModel
import InklingWire
import Synchronization

/// The identity of a node: its private key, and the lock on the directory that keeps it.
///
/// The directory holds `identity`, the key, and `state.db`, the people its nodes have met, and the chats. The running node
/// has an advisory lock on the file `lock`. The system releases the lock when the process ends, even by a crash.
package final class KeyStore: Sendable {
    /// The static key pair. The cryptography library overwrites it when the node and this store are freed.
    package let identity: KeyPair
    /// The state directory, locked for this node until ``close()`` unless it is shared; nil if the identity is
    /// temporary.
    package let directory: String?
    /// The reason why the identity is temporary; nil if it is kept.
    package let temporary: TemporaryIdentity?
    private let lock: Mutex<StateDirectory?>

    /// Opens the state directory and locks it. Makes the directory and the identity if they are missing.
    ///
    /// A nil `directory` stands for `inkling` in `XDG_STATE_HOME`, or `.local/state/inkling` in the home directory. A
    /// directory that is new, empty or the default gets mode 0700; the key file has 0600. If the node can't store
    /// anything in the directory, the identity is temporary. If others could change the identity, the result is an
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

    /// Opens the state directory for a further device of the same person. The store uses the kept identity, even while
    /// another node has the directory, and makes one if there is none.
    package static func openShared(directory: String?) throws(StateDirectoryFault) -> KeyStore {
        if let path = directory ?? defaultDirectory, let identity = try StateDirectory.existingKey(path) {
            return KeyStore(identity: identity, directory: path)
        }
        let store = try open(directory: directory)
        store.close()
        return store
    }

    /// Returns whether a node of any process uses a state directory. The call makes and changes nothing there.
    ///
    /// - Parameter directory: The directory that the user named; nil for the default directory.
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

    /// The directory with the state of earlier runs, where a node with a temporary identity writes nothing.
    var stateDirectory: String? {
        switch temporary {
        case nil: directory
        case .inUse(let directory), .unwritable(let directory, _): directory
        case .noHome: nil
        }
    }

    /// Returns once what the user must hear of the identity of a held directory; nil for nothing.
    func takeFault() -> StateFault? {
        guard isHeld, let directory, StateDirectory.takeNewIdentity(directory) else { return nil }
        return .newIdentity(path: "\(directory)/identity")
    }

    /// Whether this node alone writes the directory.
    package var isHeld: Bool { lock.withLock { $0 != nil } }

    /// Unlocks the directory for another node.
    package func close() {
        lock.withLock { $0.take() }?.close()
    }

    /// The default state directory, for a user who names none.
    static var defaultDirectory: String? {
        if let state = environment("XDG_STATE_HOME") { return "\(state)/inkling" }
        return (environment("HOME") ?? registeredHome).map { "\($0)/.local/state/inkling" }
    }

    /// The user's home directory in the system's list of users.
    private static var registeredHome: String? {
        getpwuid(getuid())?.pointee.pw_dir.flatMap { String(validatingCString: $0) }
    }

    /// Returns whether root would store files in another user's state directory or home. The owner could not use these
    /// files afterwards.
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

    /// Returns the owner of a file; nil if the path has no file.
    private static func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    /// Returns the path in an environment variable if it is absolute.
    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name), let path = String(validatingCString: value) else { return nil }
        return path.hasPrefix("/") ? path : nil
    }
}
