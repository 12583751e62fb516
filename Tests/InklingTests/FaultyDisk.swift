import CSQLite
import Glibc
import Synchronization

/// The disk under the databases in one folder. A test can make it full, let it fail, hold it, or let it die.
final class FaultyDisk: Sendable {
    struct State {
        /// The calls that change the disk so far: writes, truncations and flushes.
        var changes = 0
        var flushes = 0
        /// The number of changes after which the disk is dead. It then has half of the next write.
        var lastChange: Int?
        var isFull = false
        var flushesFail = false
        /// Whether no flush ends.
        var holdsFlushes = false
    }

    let state = Mutex(State())
    private let folder: String

    private static let disks = Mutex<[String: FaultyDisk]>([:])
    private static let files = Mutex<[Int: (disk: FaultyDisk, calls: sqlite3_io_methods)]>([:])

    /// Begins to stand between SQLite and a folder.
    init(under folder: String) {
        self.folder = folder
        _ = Self.isRegistered
        Self.disks.withLock { $0[folder] = self }
    }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Whether the disk died.
    var isDead: Bool { state.withLock { state in state.lastChange.map { state.changes > $0 } ?? false } }

    private enum Verdict { case good, torn, failed(Int32) }

    private func change(isWrite: Bool) -> Verdict {
        state.withLock { state in
            state.changes += 1
            if let last = state.lastChange, state.changes > last {
                return isWrite && state.changes == last + 1 ? .torn : .failed(SQLITE_IOERR)
            }
            return isWrite && state.isFull ? .failed(SQLITE_FULL) : .good
        }
    }

    private func flush() -> Verdict {
        while state.withLock({ $0.holdsFlushes }) { usleep(1_000) }
        state.withLock { $0.flushes += 1 }
        if state.withLock({ $0.flushesFail }) { return .failed(SQLITE_IOERR) }
        return change(isWrite: false)
    }

    // MARK: The system's calls

    private static func open(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (
        disk: FaultyDisk, calls: sqlite3_io_methods
    )? {
        files.withLock { $0[Int(bitPattern: file)] }
    }

    private static let isRegistered: Bool = {
        guard let system = sqlite3_vfs_find(nil) else { return false }
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("faulty"))
        layer.pointee.xOpen = { _, name, file, flags, outFlags in
            guard let system = sqlite3_vfs_find("unix"), let file else { return SQLITE_CANTOPEN }
            let code = system.pointee.xOpen(system, name, file, flags, outFlags)
            let path = name.map { String(cString: $0) } ?? ""
            let disk = FaultyDisk.disks.withLock { disks in disks.first { path.hasPrefix($0.key + "/") }?.value }
            guard code == SQLITE_OK, let disk, let calls = file.pointee.pMethods?.pointee else { return code }
            FaultyDisk.files.withLock { $0[Int(bitPattern: file)] = (disk, calls) }
            let own = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
            own.initialize(to: calls)
            own.pointee.xWrite = { file, bytes, count, offset in
                guard let (disk, calls) = FaultyDisk.open(file) else { return SQLITE_IOERR }
                switch disk.change(isWrite: true) {
                case .good: return calls.xWrite(file, bytes, count, offset)
                case .torn:
                    _ = calls.xWrite(file, bytes, count / 2, offset)
                    return SQLITE_IOERR
                case .failed(let code): return code
                }
            }
            own.pointee.xTruncate = { file, size in
                guard let (disk, calls) = FaultyDisk.open(file) else { return SQLITE_IOERR }
                guard case .good = disk.change(isWrite: false) else { return SQLITE_IOERR }
                return calls.xTruncate(file, size)
            }
            own.pointee.xSync = { file, flags in
                guard let (disk, calls) = FaultyDisk.open(file) else { return SQLITE_IOERR }
                guard case .good = disk.flush() else { return SQLITE_IOERR }
                return calls.xSync(file, flags)
            }
            own.pointee.xClose = { file in
                guard let (_, calls) = FaultyDisk.files.withLock({ $0.removeValue(forKey: Int(bitPattern: file)) })
                else { return SQLITE_OK }
                return calls.xClose(file)
            }
            file.pointee.pMethods = UnsafePointer(own)
            return code
        }
        return sqlite3_vfs_register(layer, 1) == SQLITE_OK
    }()
}
