import CDNSSD
import Glibc

/// Hands the discovery library memory that is zeroed.
///
/// A reference of the library has a callback for each kind of operation, and only that of its own kind is ever set. When
/// the daemon goes away the library looks for the one that is not null, and calls whatever the memory held before. With
/// zeroes it finds its own. Seen with Avahi 0.8, whose allocator can be replaced.
enum LibraryMemory {
    /// To be called before the library's first call; later ones do nothing.
    static func prepare() { _ = prepared }

    private static let prepared: Bool = {
        // The library keeps the pointer: it is never freed.
        let allocator = UnsafeMutablePointer<AvahiAllocator>.allocate(capacity: 1)
        allocator.initialize(
            to: AvahiAllocator(
                malloc: { Glibc.calloc(1, $0) }, free: { Glibc.free($0) }, realloc: { Glibc.realloc($0, $1) },
                calloc: { Glibc.calloc($0, $1) }))
        avahi_set_allocator(allocator)
        return true
    }()
}
