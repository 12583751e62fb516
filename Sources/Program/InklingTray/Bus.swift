import CDesktop

/// The connection to the session bus. The library does the wire format.
///
/// No call waits for an answer, apart from those of the start: answers come by ``process(_:)``. So no timer runs.
final class Bus {
    /// The reason why the bus can't be used.
    struct Failure: Error {
        let text: String
    }

    /// A message from the bus.
    struct Incoming {
        fileprivate let message: OpaquePointer
        let sender: String
        let path: String
        let interface: String
        let member: String
        let arguments: [BusValue]
    }

    /// The answer to a call.
    enum Answer {
        case values([BusValue])
        /// The name of an error, such as ``Bus/unknownService``.
        case error(String)
    }

    /// A message of the bus or of another program that answers no call.
    enum Event {
        case call(Incoming)
        case signal(Incoming)
        /// The session has ended.
        case closed
    }

    static let name = "org.freedesktop.DBus"
    /// The error for a name that nobody has.
    static let unknownService = "org.freedesktop.DBus.Error.ServiceUnknown"

    private let connection: OpaquePointer
    /// The receivers of answers, by the serial number of the call.
    private var waiting: [UInt32: (Answer) -> Void] = [:]
    /// The most calls that wait for an answer. Beyond, the answers of new ones are not awaited.
    private static let mostWaiting = 256

    init() throws(Failure) {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let connection = dbus_bus_get_private(DBUS_BUS_SESSION, &error) else {
            throw Failure(text: error.message.map { String(cString: $0) } ?? "no reason is known")
        }
        dbus_connection_set_exit_on_disconnect(connection, 0)
        self.connection = connection
    }

    /// Takes a name. Returns false if another program has it.
    func take(_ name: String) throws(Failure) -> Bool {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        let result = dbus_bus_request_name(connection, name, UInt32(DBUS_NAME_FLAG_DO_NOT_QUEUE), &error)
        guard result >= 0 else {
            throw Failure(text: error.message.map { String(cString: $0) } ?? "no reason is known")
        }
        return result == DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER || result == DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER
    }

    /// Asks for the signals that match a rule.
    func match(_ rule: String) { dbus_bus_add_match(connection, rule, nil) }

    /// The descriptor to wait for.
    var descriptor: Int32 {
        var descriptor: Int32 = -1
        dbus_connection_get_unix_fd(connection, &descriptor)
        return descriptor
    }

    /// Whether output waits for the descriptor.
    var hasOutput: Bool { dbus_connection_has_messages_to_send(connection) != 0 }

    // MARK: Output

    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        answer: ((Answer) -> Void)? = nil
    ) {
        guard let message = dbus_message_new_method_call(destination, path, interface, member) else { return }
        defer { dbus_message_unref(message) }
        if answer == nil { dbus_message_set_no_reply(message, 1) }
        let serial = send(message, arguments)
        if let answer, waiting.count < Self.mostWaiting { waiting[serial] = answer }
    }

    func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) {
        guard let message = dbus_message_new_signal(path, interface, member) else { return }
        defer { dbus_message_unref(message) }
        send(message, arguments)
    }

    /// Answers a call. The caller of a call that wants no answer gets none.
    func answer(_ call: Incoming, _ arguments: [BusValue]) {
        guard dbus_message_get_no_reply(call.message) == 0,
            let message = dbus_message_new_method_return(call.message)
        else { return }
        defer { dbus_message_unref(message) }
        send(message, arguments)
    }

    func refuse(_ call: Incoming, _ error: String, _ text: String) {
        guard dbus_message_get_no_reply(call.message) == 0,
            let message = dbus_message_new_error(call.message, "org.freedesktop.DBus.Error." + error, text)
        else { return }
        defer { dbus_message_unref(message) }
        send(message, [])
    }

    @discardableResult
    private func send(_ message: OpaquePointer, _ arguments: [BusValue]) -> UInt32 {
        var place = DBusMessageIter()
        dbus_message_iter_init_append(message, &place)
        for argument in arguments { argument.append(to: &place) }
        var serial: UInt32 = 0
        dbus_connection_send(connection, message, &serial)
        return serial
    }

    /// Writes all output, before the program's end.
    func flush() { dbus_connection_flush(connection) }

    // MARK: Input

    /// Reads and writes what is possible without waiting, and passes on what came.
    func process(_ receive: (Event) -> Void) {
        _ = dbus_connection_read_write(connection, 0)
        while let message = dbus_connection_pop_message(connection) {
            defer { dbus_message_unref(message) }
            process(message, receive)
        }
        if dbus_connection_get_is_connected(connection) == 0 { receive(.closed) }
    }

    private func process(_ message: OpaquePointer, _ receive: (Event) -> Void) {
        let kind = dbus_message_get_type(message)
        if kind == DBUS_MESSAGE_TYPE_METHOD_CALL {
            receive(.call(Self.incoming(message)))
        } else if kind == DBUS_MESSAGE_TYPE_SIGNAL {
            receive(.signal(Self.incoming(message)))
        } else if let answer = waiting.removeValue(forKey: dbus_message_get_reply_serial(message)) {
            let isError = kind == DBUS_MESSAGE_TYPE_ERROR
            answer(isError ? .error(Self.text(dbus_message_get_error_name(message))) : .values(Self.values(message)))
        }
    }

    private static func incoming(_ message: OpaquePointer) -> Incoming {
        Incoming(
            message: message, sender: text(dbus_message_get_sender(message)),
            path: text(dbus_message_get_path(message)),
            interface: text(dbus_message_get_interface(message)), member: text(dbus_message_get_member(message)),
            arguments: values(message))
    }

    private static func values(_ message: OpaquePointer) -> [BusValue] {
        var place = DBusMessageIter()
        return dbus_message_iter_init(message, &place) == 0 ? [] : BusValue.read(from: &place)
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
}
