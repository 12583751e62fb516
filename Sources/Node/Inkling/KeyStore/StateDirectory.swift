import Glibc
import InklingModel
import InklingWire

/// The locked state directory.
struct StateDirectory: Sendable {
    enum Opening {
        case locked(StateDirectory)
        case inUse
        case unwritable(reason: String)
    }

    enum Key {
        case kept(KeyPair)
        case unwritable(reason: String)
    }

    /// The file that a running node locks. With a byte in it, the directory has had a `state.db`. With two, its identity
    /// is new, and the user does not know yet.
    static let lockName = "lock"
    private static let newIdentity: off_t = 2
    /// The number of tries to get the lock. ``isInUse(_:)`` in another process may hold it for a moment.
    private static let looks = 10
    /// The microseconds between two tries.
    private static let lookPause: UInt32 = 5_000

    let path: String
    /// The open directory. Files are opened through it, even if its path changes.
    private let descriptor: Int32
    private let lock: Int32

    /// Opens and locks the directory, and makes a missing one. A directory that the user named (`isNamed`) may serve
    /// other purposes too.
    static func open(_ path: String, isNamed: Bool) throws(StateDirectoryFault) -> Opening {
        if let code = make(path) { return .unwritable(reason: reason(code)) }
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return .unwritable(reason: reason(errno)) }
        do {
            try secure(descriptor, path: path, isNamed: isNamed)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        let opening = takeLock(descriptor, path: path)
        if case .locked = opening {} else { Glibc.close(descriptor) }
        return opening
    }

    /// Locks the directory as ``open(_:isNamed:)`` does, while `body` runs.
    ///
    /// - Throws: ``NodeError/stateDirectoryInUse(_:)``, ``NodeError/stateDirectory(_:)``, and the errors of `body`.
    static func withLock(
        _ path: String, isNamed: Bool, _ body: (StateDirectory) throws(NodeError) -> Void
    ) throws(NodeError) {
        let opening: Opening
        do {
            opening = try open(path, isNamed: isNamed)
        } catch {
            throw .stateDirectory(error)
        }
        switch opening {
        case .locked(let state):
            defer { state.close() }
            try body(state)
        case .inUse: throw .stateDirectoryInUse(path)
        case .unwritable(let reason): throw .stateDirectory(.unwritable(path: path, reason: reason))
        }
    }

    /// Returns the private key in a directory, even while another process holds the lock; nil if there is none.
    static func existingKey(_ path: String) throws(StateDirectoryFault) -> KeyPair? {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR { return nil }
            throw .unreadable(path: path, reason: reason(code))
        }
        let directory = StateDirectory(path: path, descriptor: descriptor, lock: -1)
        defer { directory.close() }
        return try directory.existingKey()
    }

    /// Returns the private key in a directory of any owner; nil if there is none, or its file can't be read. The call
    /// makes and changes nothing there.
    static func peekedKey(_ path: String) -> KeyPair? {
        let file = Glibc.open("\(path)/identity", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { Glibc.close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = Array(repeating: 0, count: Identity.maximumBytes)
        defer { Identity.wipe(&bytes) }
        let count = read(file, &bytes, bytes.count)
        var text = Array(bytes.prefix(max(count, 0)))
        defer { Identity.wipe(&text) }
        guard case .key(let key) = Identity.read(text) else { return nil }
        return key
    }

    /// Returns whether a node holds the lock of a directory. The call makes and changes nothing there.
    static func isInUse(_ path: String) -> Bool {
        let lock = Glibc.open("\(path)/\(lockName)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard lock >= 0 else { return false }
        defer { Glibc.close(lock) }
        // The shared lock makes a starting node's lock fail for a moment. So a starting node tries more than once.
        while flock(lock, LOCK_SH | LOCK_NB) != 0 {
            if errno != EINTR { return errno == EWOULDBLOCK }
        }
        return false
    }

    /// Drops the lock.
    func close() {
        if lock >= 0 { Glibc.close(lock) }
        Glibc.close(descriptor)
    }

    /// Returns the kept private key, or a new one if there is none.
    func identity() throws(StateDirectoryFault) -> Key {
        if let key = try existingKey() { return .kept(key) }
        let made = keep(Identity.random())
        // The next node tells its user, whichever program made the identity.
        if case .kept = made, Self.hadDatabase(path) { truncate("\(path)/\(Self.lockName)", Self.newIdentity) }
        return made
    }

    private func existingKey() throws(StateDirectoryFault) -> KeyPair? {
        let file = "\(path)/identity"
        guard var bytes = try readIdentity(file) else { return nil }
        defer { Identity.wipe(&bytes) }
        switch Identity.read(bytes) {
        case .key(let key): return key
        case .newer: throw .newer(path: file)
        case .corrupt: throw .corrupt(path: file)
        }
    }

    private static func sizeOfLock(_ path: String) -> off_t {
        var lock = stat()
        return lstat("\(path)/\(lockName)", &lock) == 0 ? lock.st_size : 0
    }

    /// Returns whether a directory has had a `state.db`.
    static func hadDatabase(_ path: String) -> Bool { sizeOfLock(path) > 0 }

    /// Returns whether the identity took the place of a missing one, once.
    static func takeNewIdentity(_ path: String) -> Bool {
        guard sizeOfLock(path) == newIdentity else { return false }
        return truncate("\(path)/\(lockName)", 1) == 0
    }

    /// Records that a directory has a `state.db`. No descriptor of the file is opened: closing it could end the lock.
    static func noteDatabase(_ path: String) {
        if !hadDatabase(path) { truncate("\(path)/\(lockName)", 1) }
    }

    /// Whether the directory has a file with the name of the key file.
    var hasIdentity: Bool { faccessat(descriptor, "identity", F_OK, AT_SYMLINK_NOFOLLOW) == 0 }

    // MARK: - Directory

    /// Makes the directory and its parents. Returns the system's error code if that fails.
    private static func make(_ path: String) -> Int32? {
        var prefixes: [String] = []
        var prefix = Substring(path)
        while !prefix.isEmpty, prefix != "/", access(String(prefix), F_OK) != 0 {
            guard errno == ENOENT else { return errno }
            prefixes.append(String(prefix))
            guard let slash = prefix.lastIndex(of: "/") else { break }
            prefix = prefix[..<slash]
        }
        for prefix in prefixes.reversed() where mkdir(prefix, 0o700) != 0 && errno != EEXIST {
            return errno
        }
        return nil
    }

    /// Ensures that no other user can put another key into the directory.
    private static func secure(_ descriptor: Int32, path: String, isNamed: Bool) throws(StateDirectoryFault) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return }
        guard status.st_uid == geteuid() else {
            // Another user's directory is no risk if this user can't write there, because then this user can't use it
            // anyway.
            if faccessat(descriptor, ".", W_OK, 0) != 0 { return }
            throw .foreign(path: path)
        }
        guard status.st_mode & 0o077 != 0 else { return }
        if !isNamed || isEmpty(path), fchmod(descriptor, 0o700) == 0 { return }
        if status.st_mode & 0o022 != 0 { throw .shared(path: path) }
    }

    private static func isEmpty(_ path: String) -> Bool {
        guard let directory = opendir(path) else { return false }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil, count < 3 { count += 1 }
        return count == 2
    }

    private static func takeLock(_ descriptor: Int32, path: String) -> Opening {
        var lock = openat(descriptor, Self.lockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        let code = errno
        if lock < 0, code == EACCES || code == EROFS || code == EPERM {
            // An existing lock file can be locked without the right to write.
            lock = openat(descriptor, Self.lockName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard lock >= 0 else { return .unwritable(reason: reason(code)) }
        var rest = looks
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            if code == EWOULDBLOCK, rest > 0 {
                rest -= 1
                usleep(lookPause)
                continue
            }
            Glibc.close(lock)
            return code == EWOULDBLOCK ? .inUse : .unwritable(reason: reason(code))
        }
        return .locked(StateDirectory(path: path, descriptor: descriptor, lock: lock))
    }

    // MARK: - Key file

    /// The content of the key file; nil if there is none.
    private func readIdentity(_ file: String) throws(StateDirectoryFault) -> [UInt8]? {
        // O_NONBLOCK: the open must not wait if the file is a pipe.
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        var identity = openat(descriptor, "identity", flags)
        if identity < 0, errno == EACCES, fchmodat(descriptor, "identity", 0o600, 0) == 0 {
            identity = openat(descriptor, "identity", flags)
        }
        guard identity >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            throw .unreadable(path: file, reason: code == ELOOP ? "it is a link" : reason(code))
        }
        defer { Glibc.close(identity) }
        var status = stat()
        guard fstat(identity, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .corrupt(path: file) }
        guard status.st_uid == geteuid() else { throw .foreign(path: file) }
        if status.st_mode & 0o177 != 0, fchmod(identity, 0o600) != 0, status.st_mode & 0o077 != 0 {
            throw .unreadable(path: file, reason: "others may read it: chmod 600")
        }
        var bytes: [UInt8] = Array(repeating: 0, count: Identity.maximumBytes)
        defer { Identity.wipe(&bytes) }
        let count = read(identity, &bytes, bytes.count)
        guard count >= 0 else { throw .unreadable(path: file, reason: reason(errno)) }
        return Array(bytes.prefix(count))
    }

    /// Writes a key so that the file is always either complete or unchanged. The lock keeps other nodes from writing.
    func keep(_ key: KeyPair) -> Key {
        unlinkat(descriptor, "identity.new", 0)
        let file = openat(descriptor, "identity.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return .unwritable(reason: reason(errno)) }
        var text = Identity.text(of: key)
        defer { Identity.wipe(&text) }
        var code: Int32 = 0
        let written = write(file, text, text.count)
        if written != text.count {
            code = written < 0 ? errno : ENOSPC
        } else if fchmod(file, 0o600) != 0 || fsync(file) != 0 {
            code = errno
        }
        Glibc.close(file)
        if code == 0, renameat(descriptor, "identity.new", descriptor, "identity") != 0 { code = errno }
        guard code == 0 else {
            unlinkat(descriptor, "identity.new", 0)
            return .unwritable(reason: reason(code))
        }
        // Lets the new name survive a power failure. The key is valid even if `fsync` fails.
        _ = fsync(descriptor)
        return .kept(key)
    }
}

/// The system's text for an error code.
private func reason(_ code: Int32) -> String {
    String(cString: strerror(code))
}
