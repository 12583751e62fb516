import FoundationEssentials
import Glibc
import InklingConformance
import ProcessSupport

/// A stage of real programs and real sockets on loopback.
///
/// A stage has one thread, that of its case: `next(until:)` waits for all sockets and programs at once.
final class ProcessStage: Stage {
    private let command: [String]
    private let usesDiscovery: Bool
    private let transcript: Transcript?
    /// The case, for the transcript.
    private let test: String
    private let beginning = ContinuousClock.now
    /// Nil if no folder can be made; then the programs fail.
    private var folder: TemporaryFolder?
    private var sockets: [UDPAddress: StageSocket] = [:]
    private var children: [ChildProcess] = []
    private var services: ServiceBench?
    /// Events that `next(until:)` has not returned yet.
    private var waiting: [StageEvent] = []

    init(command: [String], usesDiscovery: Bool, transcript: Transcript? = nil, test: String = "") {
        self.command = command
        self.usesDiscovery = usesDiscovery
        self.transcript = transcript
        self.test = test
        folder = try? TemporaryFolder("inkling-conformance")
    }

    var now: Duration {
        seen = ContinuousClock.now - beginning
        return seen
    }
    /// The latest time that a case has seen.
    private var seen = Duration.zero

    /// Ends the programs, closes the sockets and removes the programs' state.
    func end() {
        for child in children { child.end() }
        sockets = [:]
        services?.end()
        folder = nil
    }

    // MARK: Sockets

    func bind(host: String) throws(StageError) -> UDPAddress {
        let socket = try StageSocket(host: host)
        sockets[socket.address] = socket
        return socket.address
    }

    func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        sockets[source]?.send(bytes, to: destination)
    }

    // MARK: Programs

    func start(_ arguments: ProgramArguments) throws(StageError) -> ProgramID {
        let id = ProgramID(number: children.count)
        let list = command + arguments.list(directory: "\(folder?.path ?? "/nowhere")/\(arguments.state)")
        children.append(try ChildProcess(list, id: id))
        return id
    }

    func feed(_ line: [UInt8], to program: ProgramID) {
        transcript?.record(line, ">", program, of: test)
        children[program.number].write(line + [0x0A])
    }

    func closeInput(of program: ProgramID) { children[program.number].closeInput() }

    func setHopLimit(_ limit: Int, of address: UDPAddress) { sockets[address]?.setHopLimit(limit) }

    func signal(_ signal: ProgramSignal, to program: ProgramID) {
        let number =
            switch signal {
            case .kill: SIGKILL
            case .terminate: SIGTERM
            case .interrupt: SIGINT
            case .stop: SIGSTOP
            case .terminalStop: SIGTSTP
            case .resume: SIGCONT
            }
        children[program.number].signal(number)
    }

    func encode(_ value: JSONValue) -> [UInt8] { ProcessStage.encode(value) }

    static func encode(_ value: JSONValue) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) } ?? []
    }

    // MARK: Discovery

    func advertise(_ service: ServiceInstance) throws(StageError) { try bench().advertise(service, at: now) }

    func withdraw(instance: String) throws(StageError) { try bench().withdraw(instance: instance) }

    func browse() throws(StageError) { try bench().browse() }

    private func bench() throws(StageError) -> ServiceBench {
        guard usesDiscovery else { throw StageError("discovery is tested with --discovery alone") }
        if let services { return services }
        let bench = ServiceBench()
        services = bench
        return bench
    }

    // MARK: Events

    func next(until end: Duration) -> StageEvent? {
        while true {
            if !waiting.isEmpty { return waiting.removeFirst() }
            let left = max(.zero, end - now)
            collect(within: min(left, .milliseconds(20)))
            if waiting.isEmpty, now >= end { return nil }
        }
    }

    /// Waits for descriptors, and reads all that can be read.
    private func collect(within wait: Duration) {
        var entries: [pollfd] = []
        let sockets = Array(sockets.values)
        for socket in sockets { entries.append(pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)) }
        for child in children { entries += child.descriptors }
        if let services { entries += services.descriptors }
        // Rounded up, so that the last millisecond is waited for and not spun through.
        _ = poll(&entries, nfds_t(entries.count), Int32(wait.milliseconds + (wait > .zero ? 1 : 0)))
        let known = seen
        let at = now
        var events: [StageEvent] = []
        for socket in sockets {
            for (bytes, source, age) in socket.receive() {
                // Read late on a busy machine, a datagram has the time of its arrival, but none that the case is past.
                let came = min(max(known, ContinuousClock.now - beginning - age), at)
                events.append(.datagram(bytes: bytes, from: source, to: socket.address, at: came))
            }
        }
        for child in children { events += child.collect(at: at) }
        for case .line(let bytes, _, let program, _) in events { transcript?.record(bytes, "<", program, of: test) }
        if let services { events += services.collect(at: at) }
        waiting += events.sorted { $0.at < $1.at }
    }
}
