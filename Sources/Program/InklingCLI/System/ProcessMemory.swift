import CProcess
import Glibc

/// The memory of the program, which holds the private key and the keys of sessions.
package enum ProcessMemory {
    /// Keeps debuggers and core dumps away from the memory, unless `INKLING_DUMPABLE=1` permits them. Otherwise any
    /// other program of the user could read the keys there.
    package static func protect() {
        if let value = getenv("INKLING_DUMPABLE"), String(cString: value) == "1" { return }
        _ = cprocess_forbid_dumps()
    }
}
