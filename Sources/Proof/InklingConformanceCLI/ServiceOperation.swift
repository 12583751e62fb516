import CDNSSD
import Glibc
import InklingConformance

/// An answer of the DNS-SD library in a callback.
enum ServiceAnswer {
    case registered
    case listed(name: String, interface: UInt32, isAdded: Bool)
    case resolved(port: UInt16, txt: [UInt8])
    case failed
}

/// An error code of the library.
struct ServiceError: Error {
    let code: Int32

    /// The library has no code of its own for a daemon that does not answer.
    var asStageError: StageError {
        code == Int32(kDNSServiceErr_Unknown)
            ? StageError("no DNS-SD daemon answers") : StageError("the DNS-SD daemon refuses: error \(code)")
    }
}

/// A registration, a browser or a resolve of the library.
///
/// The library calls back from within `processIfReadable()` only. The operation keeps the answers until
/// `takeAnswers()`, so that no callback frees anything.
final class ServiceOperation {
    private final class Inbox {
        var answers: [ServiceAnswer] = []
    }

    private typealias Context = UnsafeMutableRawPointer
    private static let type = "_inkling._udp"
    private static let domain = "local"

    let descriptor: Int32
    private let inbox: Inbox
    private let retained: Unmanaged<Inbox>
    private var reference: DNSServiceRef?

    private init(_ begin: (inout DNSServiceRef?, Context) -> DNSServiceErrorType) throws(ServiceError) {
        let inbox = Inbox()
        let retained = Unmanaged.passRetained(inbox)
        var made: DNSServiceRef?
        let code = begin(&made, retained.toOpaque())
        guard code == kDNSServiceErr_NoError, let made else {
            retained.release()
            throw ServiceError(code: code == kDNSServiceErr_NoError ? Int32(kDNSServiceErr_Unknown) : code)
        }
        (self.inbox, self.retained, reference) = (inbox, retained, made)
        descriptor = DNSServiceRefSockFD(made)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { free() }

    static func register(_ service: ServiceInstance) throws(ServiceError) -> ServiceOperation {
        guard let length = UInt16(exactly: service.txt.count), let port = UInt16(exactly: service.port) else {
            throw ServiceError(code: Int32(kDNSServiceErr_BadParam))
        }
        return try ServiceOperation { reference, context in
            DNSServiceRegister(
                &reference, 0, 0, service.instance, type, domain, nil, port.bigEndian, length,
                service.txt,
                { _, _, code, name, _, _, context in
                    let isDone = code == kDNSServiceErr_NoError && name != nil
                    ServiceOperation.tell(context, isDone ? .registered : .failed)
                }, context)
        }
    }

    static func browse() throws(ServiceError) -> ServiceOperation {
        try ServiceOperation { reference, context in
            DNSServiceBrowse(
                &reference, 0, 0, type, domain,
                { _, flags, interface, code, name, _, _, context in
                    guard code == kDNSServiceErr_NoError, let name, let text = String(validatingCString: name) else {
                        return ServiceOperation.tell(context, .failed)
                    }
                    let isAdded = flags & UInt32(kDNSServiceFlagsAdd) != 0
                    ServiceOperation.tell(context, .listed(name: text, interface: interface, isAdded: isAdded))
                }, context)
        }
    }

    static func resolve(_ instance: String, interface: UInt32) throws(ServiceError) -> ServiceOperation {
        try ServiceOperation { reference, context in
            DNSServiceResolve(
                &reference, 0, interface, instance, type, domain,
                { _, _, _, code, _, host, port, length, txt, context in
                    guard code == kDNSServiceErr_NoError, host != nil else {
                        return ServiceOperation.tell(context, .failed)
                    }
                    let bytes = Array(UnsafeRawBufferPointer(start: txt, count: txt == nil ? 0 : Int(length)))
                    let answer = ServiceAnswer.resolved(
                        port: UInt16(bigEndian: port), txt: ServiceOperation.inOrder(bytes))
                    ServiceOperation.tell(context, answer)
                }, context)
        }
    }

    /// The record as it is on the wire: Avahi's library gives its strings with the last one first.
    private static func inOrder(_ txt: [UInt8]) -> [UInt8] {
        var strings: [ArraySlice<UInt8>] = []
        var rest = txt[...]
        while let length = rest.first {
            strings.append(rest.prefix(Int(length) + 1))
            rest = rest.dropFirst(Int(length) + 1)
        }
        return Array(strings.reversed().joined())
    }

    private static func tell(_ context: Context?, _ answer: ServiceAnswer) {
        guard let context else { return }
        Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue().answers.append(answer)
    }

    /// Handles what the library has read. Without the look at the descriptor first it could wait for ever.
    func processIfReadable() {
        guard let reference else { return }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) > 0, entry.revents != 0 else { return }
        if DNSServiceProcessResult(reference) != kDNSServiceErr_NoError { inbox.answers.append(.failed) }
    }

    func takeAnswers() -> [ServiceAnswer] {
        defer { inbox.answers = [] }
        return inbox.answers
    }

    /// Whether its descriptor is of no more use.
    var isFreed: Bool { reference == nil }

    func free() {
        guard let reference else { return }
        self.reference = nil
        DNSServiceRefDeallocate(reference)
        retained.release()
    }
}

/// The preparation of the library before its first call.
enum ServiceLibrary {
    static func prepare() { _ = prepared }

    /// Without the variable the library prints a warning. The library sets only one callback of a reference, and calls
    /// those that are not null when the daemon ends. With zeroed memory the others are null.
    private static let prepared: Bool = {
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        // The library keeps the pointer.
        let allocator = UnsafeMutablePointer<AvahiAllocator>.allocate(capacity: 1)
        allocator.initialize(
            to: AvahiAllocator(
                malloc: { Glibc.calloc(1, $0) }, free: { Glibc.free($0) }, realloc: { Glibc.realloc($0, $1) },
                calloc: { Glibc.calloc($0, $1) }))
        avahi_set_allocator(allocator)
        return true
    }()
}
