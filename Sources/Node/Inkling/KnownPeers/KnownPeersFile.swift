import Glibc

/// `known-peers.json` in the state directory. Nodes that share the directory take turns, under an advisory lock on the
/// directory. Each merges the content of the file before it writes.
package struct KnownPeersFile: Sendable {
    package static let name = "known-peers.json"
    /// The name to which a damaged file is moved.
    package static let damagedName = "known-peers.damaged.json"
    private static let newName = "known-peers.json.new"

    package let directory: String
    private let maximumBytes: Int
    private let patience: Duration

    package enum Reading: Equatable {
        case missing
        case peers(KnownPeers)
        /// The file was damaged, and was moved to another name.
        case damaged
        /// A later version wrote the file, which stays unchanged.
        case newer
        case unreadable(reason: String)
    }

    package enum Saving: Equatable {
        /// The file now has this content.
        case saved(KnownPeers)
        case newer
        /// Another process held the lock until the timeout, so nothing was written.
        case busy
        case failed(reason: String)
    }

    private enum Lock {
        case held
        /// The file system has no locks. Only the rename protects the file.
        case unsupported
        case busy
    }

    package init(
        directory: String, maximumBytes: Int = KnownPeersLimits.fileBytes,
        patience: Duration = KnownPeersLimits.lockPatience
    ) {
        self.directory = directory
        self.maximumBytes = maximumBytes
        self.patience = patience
    }

    /// Reads the file, even if another process holds the lock for too long.
    package func read(using generator: inout some RandomNumberGenerator) -> Reading {
        withDirectory({ .unreadable(reason: $0) }) { directory, lock in
            read(directory, lock, using: &generator)
        }
    }

    /// Reads the file of any owner for a program that changes nothing. A damaged file stays as it is.
    package func peek(using generator: inout some RandomNumberGenerator) -> KnownPeers? {
        let file = open("\(directory)/\(Self.name)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes,
            let bytes = try? content(of: file, size: Int(status.st_size)),
            case .peers(let peers) = KnownPeers.read(bytes, using: &generator)
        else { return nil }
        return peers
    }

    /// Merges the peers with those in the file, and writes the file so that it is always either complete or unchanged.
    ///
    /// - Parameter now: Seconds since 1970.
    package func save(
        _ peers: KnownPeers, at now: Double, using generator: inout some RandomNumberGenerator
    ) -> Saving {
        withDirectory({ .failed(reason: $0) }) { directory, lock in
            if case .busy = lock { return .busy }
            var all = peers
            switch read(directory, lock, using: &generator) {
            case .peers(let others): all.merge(others, at: now, using: &generator)
            case .missing, .damaged: break
            case .newer: return .newer
            case .unreadable(let reason): return .failed(reason: reason)
            }
            let bytes = all.encoded()
            guard bytes.count <= maximumBytes else { return .failed(reason: "they are too many") }
            if let reason = write(bytes, directory) { return .failed(reason: reason) }
            all.settle()
            return .saved(all)
        }
    }

    /// Runs `body` with the open directory. With the lock ``Lock/held``, no other node does so meanwhile.
    private func withDirectory<Result>(_ failure: (String) -> Result, _ body: (Int32, Lock) -> Result) -> Result {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return failure(errorText(errno)) }
        defer { close(descriptor) }
        let end = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK else { return body(descriptor, .unsupported) }
            guard ContinuousClock.now < end else { return body(descriptor, .busy) }
            usleep(10_000)
        }
        return body(descriptor, .held)
    }

    private func read(
        _ directory: Int32, _ lock: Lock, using generator: inout some RandomNumberGenerator
    ) -> Reading {
        // O_NONBLOCK: the open must not wait if the file is a pipe.
        let file = openat(directory, Self.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            let code = errno
            if code == ENOENT { return .missing }
            return .unreadable(reason: code == ELOOP ? "it is a link" : errorText(code))
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_uid == geteuid() else {
            return .unreadable(reason: "it belongs to another user")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else {
            return moveAside(directory, lock)
        }
        let bytes: [UInt8]
        do {
            bytes = try content(of: file, size: Int(status.st_size))
        } catch {
            return .unreadable(reason: errorText(error.code))
        }
        switch KnownPeers.read(bytes, using: &generator) {
        case .peers(let peers): return .peers(peers)
        case .newer: return .newer
        case .damaged: return moveAside(directory, lock)
        }
    }

    /// The system's code for an error.
    private struct SystemError: Error {
        let code: Int32
    }

    private func content(of file: Int32, size: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size)
        var count = 0
        while count < bytes.count {
            let more = bytes[count...].withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw SystemError(code: errno) }
            if more == 0 { break }
            count += more
        }
        return Array(bytes.prefix(count))
    }

    private func moveAside(_ directory: Int32, _ lock: Lock) -> Reading {
        // The process that holds the lock may have written a good file by now.
        if case .busy = lock { return .unreadable(reason: "it is damaged, and another program is using it") }
        guard renameat(directory, Self.name, directory, Self.damagedName) == 0 else {
            return .unreadable(reason: "it is damaged, and can't be moved: \(errorText(errno))")
        }
        return .damaged
    }

    /// Returns the error text; nil after success.
    private func write(_ bytes: [UInt8], _ directory: Int32) -> String? {
        unlinkat(directory, Self.newName, 0)
        let file = openat(directory, Self.newName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errorText(errno) }
        var written = 0
        var code: Int32 = 0
        while written < bytes.count, code == 0 {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count >= 0 { written += count } else if errno != EINTR { code = errno }
        }
        if code == 0, fchmod(file, 0o600) != 0 || fsync(file) != 0 { code = errno }
        close(file)
        if code == 0, renameat(directory, Self.newName, directory, Self.name) != 0 { code = errno }
        if code != 0 { unlinkat(directory, Self.newName, 0) }
        return code == 0 ? nil : errorText(code)
    }
}

private func errorText(_ code: Int32) -> String { String(cString: strerror(code)) }
