import Glibc
import Synchronization

/// Why a node runs under an identity that ends with it.
package enum TemporaryIdentity: Hashable, Sendable, CustomStringConvertible {
    /// Another running node holds the state directory.
    case inUse(directory: String)
    /// Nothing can be kept in the state directory; `reason` is the system's.
    case unwritable(directory: String, reason: String)
    /// No directory was given, and the environment names none.
    case noHome

    package var description: String {
        switch self {
        case .inUse(let directory):
            "Your identity in \(printable(directory)) is in use by another program of yours: here you are somebody "
                + "new to the others, until it ends. For one more chat, use /join in the other program; for an "
                + "identity of its own, --state-dir."
        case .unwritable(let directory, let reason):
            "Nothing can be kept in \(printable(directory)) (\(reason)): this node runs under a temporary "
                + "identity. Make it writable, or choose another with --state-dir."
        case .noHome:
            "HOME is not set, so nothing can be kept: this node runs under a temporary identity. "
                + "Set HOME, or choose a directory with --state-dir."
        }
    }
}

/// Why a node must not start with a state directory. Nothing was changed.
package enum KeyStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key file is not what this program writes.
    case corrupt(path: String)
    /// The key file was written by a later version.
    case newer(path: String)
    /// The key file exists and can't be read.
    case unreadable(path: String, reason: String)
    /// The file or directory belongs to somebody else, who could change it.
    case foreign(path: String)
    /// Others may write to the directory, and it was not made for this program alone.
    case shared(path: String)

    package var description: String {
        switch self {
        case .corrupt(let path):
            "The identity in \(printable(path)) is damaged. Restore it from a copy, or remove it to get a new "
                + "identity: peers will then see another person."
        case .newer(let path):
            "The identity in \(printable(path)) was made by a later version. Use that, or another --state-dir."
        case .unreadable(let path, let reason):
            "The identity in \(printable(path)) can't be read (\(reason)). Make it readable, or choose another "
                + "directory with --state-dir."
        case .foreign(let path):
            "\(printable(path)) belongs to another user. Choose another directory with --state-dir."
        case .shared(let path):
            "Others may write to \(printable(path)). Choose another directory with --state-dir, or take their "
                + "right away: chmod go-w."
        }
    }
}

/// The identity of a node: its private key, and the lock on the directory that keeps it.
///
/// The directory holds `identity`, the key, `known-peers.json`, the people whom its nodes have met, and `lock`, an
/// empty file on which the running node has an advisory lock. The system drops the lock when the process ends, however it does.
package final class KeyStore: Sendable {
    /// The X25519 private key, 32 bytes.
    package let privateKey: [UInt8]
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
    package static func open(directory: String?) throws(KeyStoreError) -> KeyStore {
        guard let path = directory ?? defaultDirectory else { return KeyStore(temporary: .noHome) }
        switch try StateDirectory.open(path, isNamed: directory != nil) {
        case .locked(let state):
            do {
                switch try state.identity() {
                case .kept(let key): return KeyStore(key: key, state: state)
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
    package static func openShared(directory: String?) throws(KeyStoreError) -> KeyStore {
        if let path = directory ?? defaultDirectory, let key = try StateDirectory.existingKey(path) {
            return KeyStore(key: key, directory: path)
        }
        let store = try open(directory: directory)
        store.close()
        return store
    }

    private init(key: [UInt8], directory: String) {
        privateKey = key
        self.directory = directory
        temporary = nil
        lock = Mutex(nil)
    }

    private init(key: [UInt8], state: StateDirectory) {
        privateKey = key
        directory = state.path
        temporary = nil
        lock = Mutex(state)
    }

    private init(temporary: TemporaryIdentity) {
        privateKey = Identity.random()
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
    package static var defaultDirectory: String? {
        if let state = environment("XDG_STATE_HOME") { return "\(state)/inkling" }
        return environment("HOME").map { "\($0)/.local/state/inkling" }
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

/// A path without what could control a terminal.
func printable(_ path: String) -> String {
    String(String.UnicodeScalarView(path.unicodeScalars.map { $0.properties.isWhitespace || $0.isSafe ? $0 : "?" }))
}

extension Unicode.Scalar {
    fileprivate var isSafe: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
