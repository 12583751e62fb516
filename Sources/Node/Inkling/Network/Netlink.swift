import Glibc

/// Requests to the kernel for its tables.
///
/// The module map of the C library lacks the headers of netlink, so the code has offsets as numbers.
enum Netlink {
    /// A protocol of netlink.
    enum Family: CInt {
        case route = 0
        case socketDiagnosis = 4
    }

    /// The body of one message of an answer.
    typealias Body = Slice<UnsafeRawBufferPointer>

    private enum Outcome { case more, done, failed }

    // The values are NLM_F_REQUEST, NLM_F_REQUEST with NLM_F_DUMP, NLM_F_DUMP_INTR, and the types NLMSG_ERROR and
    // NLMSG_DONE.
    private static let (plainRequest, dumpRequest, isInterrupted): (UInt16, UInt16, UInt16) = (0x1, 0x301, 0x10)
    private static let (error, done): (UInt16, UInt16) = (2, 3)
    private static let headerSize = 16
    /// The kernel puts at most 32 KiB into one datagram.
    private static let bufferSize = 64 << 10

    /// Requests a table over a new socket, and calls `visit` for each entry. The call does not block, because the kernel
    /// answers at once.
    ///
    /// - Returns: Whether the answer was complete.
    static func dump(_ family: Family, type: UInt16, _ request: [UInt8], visit: (Body) -> Void) -> Bool {
        let descriptor = open(family)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard send(to: descriptor, type: type, flags: dumpRequest, request) else { return false }
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            switch buffer.withUnsafeBytes({ read($0[..<count], visit: visit) }) {
            case .more: break
            case .done: return true
            case .failed: return false
            }
        }
    }

    /// Requests one entry. The call does not block, because the kernel answers at once.
    ///
    /// - Parameters:
    ///   - descriptor: A socket from ``open(_:)``, which has no other answer to read.
    ///   - size: The size of the longest answer that is of use.
    /// - Returns: The entry, or nil if the kernel has none.
    static func entry(from descriptor: CInt, type: UInt16, _ request: [UInt8], size: Int) -> [UInt8]? {
        guard send(to: descriptor, type: type, flags: plainRequest, request) else { return nil }
        var buffer = [UInt8](repeating: 0, count: size)
        var count = recv(descriptor, &buffer, buffer.count, 0)
        while count < 0, errno == EINTR { count = recv(descriptor, &buffer, buffer.count, 0) }
        guard count > 0 else { return nil }
        var entry: [UInt8]?
        guard case .more = buffer.withUnsafeBytes({ read($0[..<count]) { entry = entry ?? Array($0) } }) else {
            return nil
        }
        return entry
    }

    /// Opens a socket.
    ///
    /// - Returns: The descriptor of the socket, or -1.
    static func open(_ family: Family) -> CInt {
        let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, kind, family.rawValue)
        guard descriptor >= 0 else { return -1 }
        // Makes the kernel respect filters in the request (SOL_NETLINK, NETLINK_GET_STRICT_CHK). An older kernel
        // answers with all entries.
        var on: CInt = 1
        setsockopt(descriptor, 270, 12, &on, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }

    private static func send(to descriptor: CInt, type: UInt16, flags: UInt16, _ request: [UInt8]) -> Bool {
        var message: [UInt8] = []
        append(UInt32(headerSize + request.count), to: &message)
        append(type, to: &message)
        append(flags, to: &message)
        append(UInt32(1), to: &message)  // The sequence number of the only question.
        append(UInt32(0), to: &message)
        message += request
        return Glibc.send(descriptor, message, message.count, 0) == message.count
    }

    /// Reads the messages of one datagram.
    private static func read(_ datagram: Body, visit: (Body) -> Void) -> Outcome {
        var rest = datagram
        while let length = load(rest, 0, as: UInt32.self).map(Int.init), length >= headerSize, length <= rest.count,
            let type = load(rest, 4, as: UInt16.self), let flags = load(rest, 6, as: UInt16.self)
        {
            // The table changed during the dump.
            guard flags & isInterrupted == 0, type != error else { return .failed }
            // The last message has 0, or the error that stopped the dump.
            if type == done { return load(rest, headerSize, as: Int32.self).map { $0 < 0 } == true ? .failed : .done }
            visit(rest.prefix(length).dropFirst(headerSize))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return rest.isEmpty ? .more : .failed
    }

    /// Returns the number at an offset, in the byte order of this machine.
    static func load<Value: FixedWidthInteger & BitwiseCopyable>(
        _ body: Body, _ offset: Int, as type: Value.Type
    ) -> Value? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= body.count else { return nil }
        return UnsafeRawBufferPointer(rebasing: body).loadUnaligned(fromByteOffset: offset, as: type)
    }

    static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
    }

    /// Calls `visit` with the type and the value of each attribute.
    static func attributes(_ body: Body, visit: (UInt16, Body) -> Void) {
        var rest = body
        while let length = load(rest, 0, as: UInt16.self).map(Int.init), length >= 4, length <= rest.count,
            let type = load(rest, 2, as: UInt16.self)
        {
            visit(type, rest.prefix(length).dropFirst(4))
            rest = rest.dropFirst((length + 3) & ~3)
        }
    }
}
