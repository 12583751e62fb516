/// The surroundings of a trial: the programs that it starts, the sockets of its peers, and the clock.
///
/// A trial observes the world only by `next(until:)`, so the same cases run with real programs and in virtual time. All
/// times count from the beginning of the stage, on a monotonic clock.
package protocol Stage: AnyObject {
    /// The time since the stage began.
    var now: Duration { get }

    /// Binds a peer's UDP socket to its own address on loopback.
    func bind(host: String) throws(StageError) -> UDPAddress
    /// Sends a datagram from a socket that `bind` made. The stage does not report a loss in the network.
    func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress)

    /// Sets the hop limit of a socket's next datagrams, 255 by default (L-92).
    func setHopLimit(_ limit: Int, of address: UDPAddress)

    /// Starts the program under test; `next(until:)` returns its output.
    func start(_ arguments: ProgramArguments) throws(StageError) -> ProgramID
    /// Writes a line, without its line feed, to the standard input of the program.
    func feed(_ line: [UInt8], to program: ProgramID)
    /// Ends the standard input of the program.
    func closeInput(of program: ProgramID)
    /// Sends a signal to the program.
    func signal(_ signal: ProgramSignal, to program: ProgramID)
    /// Encodes a value as JSON on one line.
    func encode(_ value: JSONValue) -> [UInt8]

    /// Registers a service instance of the type `_inkling._udp` with the DNS-SD daemon, until the stage ends.
    func advertise(_ service: ServiceInstance) throws(StageError)
    /// Withdraws the service that was advertised under that name.
    func withdraw(instance: String) throws(StageError)
    /// Starts to browse for instances of `_inkling._udp`; the stage reports each instance that it resolved.
    func browse() throws(StageError)

    /// The time by which an event can come earlier or later than its clause says.
    var tolerance: (early: Duration, late: Duration) { get }

    /// Returns the next event, or nil if no event happened until `end`.
    func next(until end: Duration) -> StageEvent?
}

extension Stage {
    /// The tolerance allows for the program's timers, the scheduling of two processes and the network's delay.
    package var tolerance: (early: Duration, late: Duration) { (.milliseconds(30), .milliseconds(250)) }
    package func setHopLimit(_ limit: Int, of address: UDPAddress) {}
    package func withdraw(instance: String) throws(StageError) { throw StageError("nothing is advertised here") }
}

/// An event on a stage, with its time.
package enum StageEvent: Sendable {
    case datagram(bytes: [UInt8], from: UDPAddress, to: UDPAddress, at: Duration)
    /// A line on standard output, without its line feed; `value` is nil if it is not JSON.
    case line(bytes: [UInt8], value: JSONValue?, program: ProgramID, at: Duration)
    /// A line on standard error.
    case diagnostic(String, program: ProgramID, at: Duration)
    case exited(ExitStatus, program: ProgramID, at: Duration)
    case found(ServiceInstance, at: Duration)

    package var at: Duration {
        switch self {
        case .datagram(_, _, _, let at), .line(_, _, _, let at), .diagnostic(_, _, let at), .exited(_, _, let at),
            .found(_, let at):
            at
        }
    }
}

/// An address and port, such as 127.0.0.1 and 7000.
package struct UDPAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A program that a stage has started, numbered from 0.
package struct ProgramID: Hashable, Sendable {
    package let number: Int

    package init(number: Int) { self.number = number }
}

/// The arguments of the program under test (J-12).
package struct ProgramArguments: Sendable {
    package var chat: String
    package var secret: String?
    package var name: String
    /// The UDP port; nil for any free port.
    package var port: Int?
    package var peers: [UDPAddress]
    /// The label of the state directory. Programs with the same label share a directory.
    package var state: String
    package var usesDiscovery: Bool
    /// Further arguments, which the program gets unchanged.
    package var others: [String]
    /// Whether the arguments are passed in the opposite order (J-12).
    package var isReversed = false

    package init(
        chat: String, secret: String? = nil, name: String = "Subject", port: Int? = nil, peers: [UDPAddress] = [],
        state: String = "subject", usesDiscovery: Bool = false, others: [String] = []
    ) {
        self.chat = chat
        self.secret = secret
        self.name = name
        self.port = port
        self.peers = peers
        self.state = state
        self.usesDiscovery = usesDiscovery
        self.others = others
    }

    /// Returns the arguments that follow the command's own, with `directory` as the state directory.
    package func list(directory: String) -> [String] {
        var groups = [[chat], ["--name", name], ["--state-dir", directory]]
        if let secret { groups.append(["--secret", secret]) }
        if let port { groups.append(["--port", String(port)]) }
        for peer in peers { groups.append(["--peer", peer.description]) }
        if !usesDiscovery { groups.append(["--no-discovery"]) }
        groups.append(others)
        return (isReversed ? groups.reversed() : groups).flatMap { $0 }
    }
}

package enum ProgramSignal: Sendable {
    case kill, terminate, interrupt, stop, terminalStop, resume
}

/// The way in which a program ended.
package enum ExitStatus: Equatable, Sendable, CustomStringConvertible {
    case exited(Int)
    case signalled(Int)

    package var description: String {
        switch self {
        case .exited(let status): "exit status \(status)"
        case .signalled(let signal): "ended by signal \(signal)"
        }
    }
}

/// A service instance that a peer of a case, or the program under test, advertises.
package struct ServiceInstance: Sendable, Equatable {
    package let instance: String
    package let port: Int
    package let txt: [UInt8]

    package init(instance: String, port: Int, txt: [UInt8]) {
        self.instance = instance
        self.port = port
        self.txt = txt
    }
}

/// The reason why a stage can't do what a trial needs. Only a failure of `start` may be the fault of the program under
/// test.
package struct StageError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A JSON value that the program under test reads or writes.
package enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Returns the member of an object; nil if the value is not an object or lacks the member.
    package subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var number: Double? { if case .number(let value) = self { value } else { nil } }
    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The number as an `Int`; nil if the value is not an integer in that range.
    package var integer: Int? { number.flatMap { Int(exactly: $0) } }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(integerLiteral value: Int) { self = .number(Double(value)) }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }

    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .number(let value):
            if let whole = Int(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
