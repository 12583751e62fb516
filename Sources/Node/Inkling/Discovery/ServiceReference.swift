import CDNSSD
import Glibc
import InklingCore

/// The content of a library callback, copied into values.
enum DiscoveryAnswer {
    /// The library registered the instance under this name.
    case registered(name: String)
    /// The browser added or removed an instance, for one address family of one interface.
    case listed(name: String, interface: UInt32, added: Bool)
    case resolved(host: String, port: UInt16, txt: [UInt8])
    /// An address of the host asked for; its port is 0.
    case address(Address, added: Bool)
    /// The call failed, or the reference no longer works.
    case failed(ServiceError)
}

/// An error code of the library.
struct ServiceError: Error, Hashable {
    let code: Int32

    /// No daemon answers, or the daemon was lost. The library has no specific code for that.
    static let unknown = ServiceError(code: Int32(kDNSServiceErr_Unknown))
    static let badParameter = ServiceError(code: Int32(kDNSServiceErr_BadParam))
    /// Another registration through the same daemon has the name.
    static let nameConflict = ServiceError(code: Int32(kDNSServiceErr_NameConflict))
}

/// One operation of the library: a registration, a browser, a resolve or a query.
///
/// A reference belongs to the thread that made it. The library calls back on that thread only, from within
/// ``process()`` and the call that begins the operation. The reference keeps the answers until ``takeAnswers()``, so no
/// callback deallocates anything. The context of the callbacks lives until ``free()`` has ended the library's own
/// thread for the operation.
final class ServiceReference {
    private final class Inbox {
        var answers: [DiscoveryAnswer] = []
    }

    private typealias Context = UnsafeMutableRawPointer

    /// Readable when ``process()`` may be called.
    let descriptor: Int32
    private let inbox: Inbox
    private let retained: Unmanaged<Inbox>
    /// Nil after ``free()``.
    private var reference: DNSServiceRef?

    /// Begins the operation that `operation` calls.
    private init(
        _ operation: (inout DNSServiceRef?, Context) -> DNSServiceErrorType
    ) throws(ServiceError) {
        let inbox = Inbox()
        let retained = Unmanaged.passRetained(inbox)
        var made: DNSServiceRef?
        let code = operation(&made, retained.toOpaque())
        guard code == kDNSServiceErr_NoError, let made else {
            retained.release()
            throw ServiceError(code: code == kDNSServiceErr_NoError ? ServiceError.unknown.code : code)
        }
        self.inbox = inbox
        self.retained = retained
        reference = made
        descriptor = DNSServiceRefSockFD(made)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        free()
    }

    /// Handles the data that the library's thread has read. Call it only when ``descriptor`` is readable: otherwise it
    /// blocks for ever.
    func process() {
        guard let reference else { return }
        let code = DNSServiceProcessResult(reference)
        if code != kDNSServiceErr_NoError {
            inbox.answers.append(.failed(ServiceError(code: code)))
        }
    }

    /// Returns the answers since the last call.
    func takeAnswers() -> [DiscoveryAnswer] {
        defer { inbox.answers = [] }
        return inbox.answers
    }

    /// Ends the operation and frees everything that the library holds for it.
    func free() {
        guard let reference else { return }
        self.reference = nil
        DNSServiceRefDeallocate(reference)
        retained.release()
    }

    private static func answer(_ context: Context?, _ answer: DiscoveryAnswer) {
        guard let context else { return }
        Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue().answers.append(answer)
    }

    /// Returns the `count` bytes at `pointer`; none if it is null.
    private static func bytes(_ pointer: UnsafeRawPointer?, _ count: UInt16) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : Int(count)))
    }
}

extension ServiceReference {
    static let domain = "local"
    private static let type = "_inkling._udp"

    /// Registers an instance on an interface, or on all if its index is 0 (D-1).
    static func register(
        name: String, interface: UInt32, port: UInt16, txt: [UInt8]
    ) throws(ServiceError) -> ServiceReference {
        guard let length = UInt16(exactly: txt.count) else { throw .badParameter }
        return try ServiceReference { reference, context in
            DNSServiceRegister(
                &reference, 0, interface, name, type, domain, nil, port.bigEndian, length, txt,
                { _, _, code, name, _, _, context in
                    guard code == kDNSServiceErr_NoError, let name, let text = String(validatingCString: name) else {
                        return ServiceReference.fail(context, code)
                    }
                    ServiceReference.answer(context, .registered(name: text))
                }, context)
        }
    }

    /// Browses for instances on an interface, or on all if its index is 0 (D-4).
    static func browse(interface: UInt32) throws(ServiceError) -> ServiceReference {
        try ServiceReference { reference, context in
            DNSServiceBrowse(
                &reference, 0, interface, type, domain,
                { _, flags, interface, code, name, _, _, context in
                    guard code == kDNSServiceErr_NoError, let name else {
                        return ServiceReference.fail(context, code)
                    }
                    // No lookup could ask for a name that is not UTF-8.
                    guard let text = String(validatingCString: name) else { return }
                    let added = flags & UInt32(kDNSServiceFlagsAdd) != 0
                    ServiceReference.answer(context, .listed(name: text, interface: interface, added: added))
                }, context)
        }
    }

    /// Asks for host, port and TXT record of an instance.
    static func resolve(name: String, interface: UInt32) throws(ServiceError) -> ServiceReference {
        try ServiceReference { reference, context in
            DNSServiceResolve(
                &reference, 0, interface, name, type, domain,
                { _, _, _, code, _, host, port, length, txt, context in
                    guard code == kDNSServiceErr_NoError, let host, let text = String(validatingCString: host) else {
                        return ServiceReference.fail(context, code)
                    }
                    ServiceReference.answer(
                        context,
                        .resolved(
                            host: text, port: UInt16(bigEndian: port),
                            txt: TXTStrings.reversed(ServiceReference.bytes(txt, length))))
                }, context)
        }
    }

    /// Asks for the addresses of a host in one family; the answers come one by one.
    static func query(
        host: String, family: InstanceTable.Family, interface: UInt32
    ) throws(ServiceError) -> ServiceReference {
        let type = family == .ipv4 ? kDNSServiceType_A : kDNSServiceType_AAAA
        return try ServiceReference { reference, context in
            DNSServiceQueryRecord(
                &reference, 0, interface, host, UInt16(type), UInt16(kDNSServiceClass_IN),
                { _, flags, interface, code, _, type, _, length, data, _, context in
                    guard code == kDNSServiceErr_NoError, let data else {
                        return ServiceReference.fail(context, code)
                    }
                    let bytes = ServiceReference.bytes(data, length)
                    guard let address = Address(record: bytes, type: Int(type), scope: interface) else { return }
                    let added = flags & UInt32(kDNSServiceFlagsAdd) != 0
                    ServiceReference.answer(context, .address(address, added: added))
                }, context)
        }
    }

    private static func fail(_ context: UnsafeMutableRawPointer?, _ code: DNSServiceErrorType) {
        let code = code == kDNSServiceErr_NoError ? ServiceError.unknown.code : code
        answer(context, .failed(ServiceError(code: code)))
    }
}

extension Address {
    /// The address in the data of an A or AAAA record, with port 0.
    fileprivate init?(record: [UInt8], type: Int, scope: UInt32) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        if type == kDNSServiceType_A, record.count == 4 {
            self.init(ipv4: UInt32(truncatingIfNeeded: number(record[...])), port: 0)
        } else if type == kDNSServiceType_AAAA, record.count == 16 {
            self.init(high: number(record[..<8]), low: number(record[8...]), port: 0, scope: scope)
        } else {
            return nil
        }
    }
}
