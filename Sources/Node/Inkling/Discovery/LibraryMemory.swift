import CDNSSD
import Glibc

/// Gives the discovery library zeroed memory.
///
/// A reference of the library has a callback for each kind of operation, but sets only that of its own kind. When the
/// daemon is lost, the library looks for a callback that is not null, and calls leftovers in memory. In zeroed memory
/// the library finds the right one. Avahi 0.8 has this fault, and its allocator can be replaced.
enum LibraryMemory {
    /// Must precede the library's first call; later calls do nothing.
    static func prepare() { _ = prepared }

    private static let prepared: Bool = {
        // Never freed: the library keeps the pointer.
        let allocator = UnsafeMutablePointer<AvahiAllocator>.allocate(capacity: 1)
        allocator.initialize(
            to: AvahiAllocator(
                malloc: { Glibc.calloc(1, $0) }, free: { Glibc.free($0) }, realloc: { Glibc.realloc($0, $1) },
                calloc: { Glibc.calloc($0, $1) }))
        avahi_set_allocator(allocator)
        return true
    }()
}
