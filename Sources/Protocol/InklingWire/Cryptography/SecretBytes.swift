import CSodium

/// The bytes of a secret key. They leave the memory with their last owner.
final class SecretBytes: Sendable {
    nonisolated(unsafe) let start: UnsafeMutablePointer<UInt8>
    private let count: Int

    /// Copies these bytes.
    init(_ bytes: [UInt8]) {
        SecretBytes.prepareLibrary
        count = bytes.count
        start = .allocate(capacity: count)
        start.initialize(from: bytes, count: count)
    }

    deinit {
        sodium_memzero(start, count)
        start.deallocate()
    }

    /// A copy of the bytes.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Lets the library choose the code for this processor. Without that it works too, but more slowly.
    private static let prepareLibrary: Void = {
        _ = sodium_init()
    }()
}
