import CProcess
import Glibc
import InklingModel

/// The messages that a state directory holds, for a user who looks or who removes them.
package struct StoredMessages: Hashable, Sendable {
    /// The size of the files.
    package var bytes: Int64 = 0
    /// The number of messages in histories, of texts that wait, and of unread texts.
    package var kept = 0, waiting = 0, unread = 0

    /// Counts the messages. The call makes and changes nothing.
    ///
    /// - Throws: Why the file can't be read.
    package init(in directory: String) throws(Database.Failure) {
        for name in Self.files { bytes += Self.size("\(directory)/\(name)") }
        let path = "\(directory)/\(TextTables.fileName)"
        guard access(path, F_OK) == 0 else { return }
        try Database(path, TextTables.schema, isReadOnly: true)
            .rows("SELECT kind, count(*) FROM rows GROUP BY kind") { row in
                switch RowKind(rawValue: row.integer(0)) {
                case .message: kept = Int(row.integer(1))
                case .waiting: waiting = Int(row.integer(1))
                case .unread: unread = Int(row.integer(1))
                case .highestEntry, .left, .seen, nil: break
                }
                return true
            }
    }

    /// Returns the kind of a file system over a network or in a program, where locks and flushes are less sure; nil for
    /// another one.
    ///
    /// - Parameter number: Returns the number of a directory's file system in statfs(2).
    package static func remoteKind(of directory: String, number: (String) -> UInt32 = StoredMessages.fileSystem(of:))
        -> String?
    {
        switch number(directory) {
        case 0x6969: "NFS"
        case 0xFF53_4D42, 0xFE53_4D42, 0x517B: "CIFS"
        case 0x6573_5546: "FUSE"
        default: nil
        }
    }

    /// Returns the number of a directory's file system in statfs(2); 0 after a failure.
    @Sendable
    package static func fileSystem(of directory: String) -> UInt32 { cprocess_file_system(directory) }

    /// The files, the keys first.
    private static let files = [
        StoreKeys.fileName, TextTables.fileName, "\(TextTables.fileName)-journal", TextTables.damagedFile,
    ]

    private static func size(_ path: String) -> Int64 {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Removes the messages, their keys first, and those of earlier builds.
    ///
    /// - Parameter directory: The directory; nil for ``Configuration/defaultStateDirectory``.
    /// - Throws: ``NodeError/stateDirectoryInUse(_:)``, ``NodeError/stateDirectory(_:)``.
    package static func remove(in directory: String?) throws(NodeError) {
        guard let path = directory ?? KeyStore.defaultDirectory else { throw .stateDirectory(.noHome) }
        guard access(path, F_OK) == 0 else { return }
        try StateDirectory.withLock(path, isNamed: directory != nil) { _ throws(NodeError) in
            if let reason = remove(path) { throw .stateDirectory(.unwritable(path: path, reason: reason)) }
        }
    }

    /// Returns the reason for a failure.
    private static func remove(_ directory: String) -> String? {
        if let text = try? StateFile(directory: directory, name: StoreKeys.fileName, newName: "").read(),
            let keys = try? StoreKeys(text: text)
        {
            _ = StoreKeys.erase(keys.keys.values.flatMap(\.self), counter: keys.counter, in: directory)
        }
        for logs in [EarlierLogs.texts, .history] where logs.isPresent(in: directory) {
            if let reason = logs.forget(in: directory) { return reason }
        }
        for name in files {
            if unlink("\(directory)/\(name)") != 0, errno != ENOENT { return StateFile.text(errno) }
            if name == StoreKeys.fileName, let reason = StateFile.syncDirectory(directory) { return reason }
        }
        return StateFile.syncDirectory(directory)
    }
}
