import Foundation
import Glibc
import ProcessSupport
import Synchronization

/// An Ethernet switch in this process. Each port is a TAP device, the `eth0` of a host. The switch loses, doubles and
/// delays frames by a seed, darkens directions, and pulls cables.
///
/// One thread forwards. Any other thread may call the methods.
final class UserSpaceSwitch: Sendable {
    let seed: UInt64
    private let state: Mutex<SwitchState>
    /// A pipe. A byte in it wakes the thread.
    private let wake: (read: Int32, write: Int32)

    init(seed: UInt64) throws {
        self.seed = seed
        wake = try StartedProcess.pipe()
        state = Mutex(SwitchState(seed: seed))
        let thread = Thread { [self] in forward() }
        thread.qualityOfService = .userInteractive
        thread.start()
    }

    /// Makes a host's `eth0`, as a port of the switch.
    func attach(_ host: Host) throws {
        let descriptor = try UserSpaceSwitch.makeTAP("eth0", on: host)
        state.withLock { $0.addPort(descriptor, of: host.number) }
        rouse()
    }

    /// Ends the thread, which then closes the ports.
    func end() {
        state.withLock { $0.isOver = true }
        rouse()
    }

    // MARK: Faults

    /// Sets the faults of later frames, and restarts the counts. Without a host, the call applies to every host.
    func set(_ faults: Faults, from source: Host? = nil, to target: Host? = nil) {
        state.withLock { state in
            state.change(from: source?.number, to: target?.number) {
                $0.faults = faults
                $0.counts = FaultCounts()
            }
        }
    }

    /// Drops all frames from one host to the other. Without a host, the call applies to every host.
    func darken(from source: Host? = nil, to target: Host? = nil) {
        state.withLock { $0.change(from: source?.number, to: target?.number) { $0.isDark = true } }
    }

    /// Ends ``darken(from:to:)`` for a direction.
    ///
    /// - Returns: The time.
    @discardableResult
    func lighten(from source: Host? = nil, to target: Host? = nil) -> Double {
        state.withLock { state in
            state.change(from: source?.number, to: target?.number) {
                $0.isDark = false
                $0.firstDatagram = nil
            }
            return now()
        }
    }

    /// Pulls the cable of a host. The switch drops all its frames, even delayed ones, and the interface loses its
    /// carrier. Returns the time.
    @discardableResult
    func unplug(_ host: Host) -> Double { state.withLock { $0.setPlugged(false, host.number) } }

    @discardableResult
    func plug(_ host: Host) -> Double { state.withLock { $0.setPlugged(true, host.number) } }

    // MARK: Counts

    /// Returns the counts since the faults were set.
    func counts(from source: Host? = nil, to target: Host? = nil) -> FaultCounts {
        state.withLock { $0.counts(from: source?.number, to: target?.number) }
    }

    /// Returns the time when the last UDP frame of one host left the switch for the other, without multicast DNS.
    func lastDatagram(from source: Host, to target: Host) -> Double? {
        state.withLock { $0.directions[.init(from: source.number, to: target.number)]?.lastDatagram }
    }

    /// Returns the time when the first such frame left after the direction was no longer dark.
    func firstDatagram(from source: Host, to target: Host) -> Double? {
        state.withLock { $0.directions[.init(from: source.number, to: target.number)]?.firstDatagram }
    }

    // MARK: - Forwarding

    private func rouse() { _ = write(wake.write, [1], 1) }

    private func forward() {
        while true {
            let (descriptors, timeout) = state.withLock { ($0.ports.map(\.descriptor), $0.timeToNext(monotonic())) }
            var waiting = ([wake.read] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&waiting, nfds_t(waiting.count), timeout)
            if waiting[0].revents != 0 {
                var byte: UInt8 = 0
                _ = read(wake.read, &byte, 1)
            }
            let isOver = state.withLock { state in
                if state.isOver { return true }
                for (index, entry) in waiting.dropFirst().enumerated() where entry.revents & Int16(POLLIN) != 0 {
                    state.read(index)
                }
                state.deliverDue(monotonic())
                return false
            }
            if isOver { break }
        }
        state.withLock { $0.close() }
        close(wake.read)
        close(wake.write)
    }

    private static func makeTAP(_ name: String, on host: Host) throws -> Int32 {
        try host.inNetwork {
            let descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw HarnessError("/dev/net/tun: \(String(cString: strerror(errno)))")
            }
            // The fields of struct ifreq: the name in 16 bytes, then the flags.
            var request = [UInt8](repeating: 0, count: 40)
            request.replaceSubrange(0..<name.utf8.count, with: name.utf8)
            let flags = UInt16(0x0002 | 0x1000)  // IFF_TAP, IFF_NO_PI
            request[16] = UInt8(flags & 0xff)
            request[17] = UInt8(flags >> 8)
            let setInterface = UInt(0x4004_54ca)  // TUNSETIFF
            guard ioctl(descriptor, setInterface, &request) == 0 else {
                throw HarnessError("no TAP device: \(String(cString: strerror(errno)))")
            }
            return descriptor
        }
    }
}

/// Returns the monotonic time in nanoseconds, by the clock that `poll` uses.
private func monotonic() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The ports, the learned addresses, and the waiting frames.
private struct SwitchState {
    struct Port {
        let descriptor: Int32
        let host: Int
        var isPlugged = true
    }

    struct Pair: Hashable {
        let from, to: Int
    }

    struct Direction {
        var faults = Faults.none
        var isDark = false
        var sequence: FaultSequence
        var counts = FaultCounts()
        var firstDatagram: Double?
        var lastDatagram: Double?
    }

    private struct Waiting {
        let due: Int
        let frame: EthernetFrame
        let pair: Pair
    }

    var isOver = false
    var directions: [Pair: Direction] = [:]
    private(set) var ports: [Port] = []
    private let seed: UInt64
    /// The host at which each hardware address was seen.
    private var learned: [UInt64: Int] = [:]
    /// The waiting frames. The frame due first is the last element.
    private var waiting: [Waiting] = []
    private var buffer = [UInt8](repeating: 0, count: 2_048)

    init(seed: UInt64) { self.seed = seed }

    mutating func addPort(_ descriptor: Int32, of host: Int) {
        for other in ports {
            for pair in [Pair(from: host, to: other.host), Pair(from: other.host, to: host)] {
                directions[pair] = Direction(sequence: FaultSequence(seed: seed, from: pair.from, to: pair.to))
            }
        }
        ports.append(Port(descriptor: descriptor, host: host))
    }

    mutating func change(from: Int?, to: Int?, _ body: (inout Direction) -> Void) {
        for (pair, var direction) in directions where (from ?? pair.from, to ?? pair.to) == (pair.from, pair.to) {
            body(&direction)
            directions[pair] = direction
        }
    }

    func counts(from: Int?, to: Int?) -> FaultCounts {
        directions.reduce(FaultCounts()) { sum, entry in
            let isMeant = (from ?? entry.key.from, to ?? entry.key.to) == (entry.key.from, entry.key.to)
            return isMeant ? sum + entry.value.counts : sum
        }
    }

    mutating func setPlugged(_ isPlugged: Bool, _ host: Int) -> Double {
        for index in ports.indices where ports[index].host == host {
            ports[index].isPlugged = isPlugged
            var carrier: Int32 = isPlugged ? 1 : 0
            let setCarrier = UInt(0x4004_54e2)  // TUNSETCARRIER
            _ = ioctl(ports[index].descriptor, setCarrier, &carrier)
        }
        return now()
    }

    /// Returns the milliseconds until a frame is due, rounded up; a second without a frame.
    func timeToNext(_ time: Int) -> Int32 {
        waiting.last.map { Int32((max($0.due - time, 0) + 999_999) / 1_000_000) } ?? 1_000
    }

    /// Reads frames from a port, but only so many that other ports do not wait for long.
    mutating func read(_ index: Int) {
        for _ in 0..<64 {
            let count = Glibc.read(ports[index].descriptor, &buffer, buffer.count)
            guard count > 0 else { return }
            if let frame = EthernetFrame(Array(buffer[..<count])) { take(frame, from: ports[index]) }
        }
    }

    private mutating func take(_ frame: EthernetFrame, from port: Port) {
        learned[frame.source] = port.host
        let known = frame.isMulticast ? nil : learned[frame.destination]
        for target in ports where target.host != port.host && target.host == known ?? target.host {
            pass(frame, Pair(from: port.host, to: target.host))
        }
    }

    private mutating func pass(_ frame: EthernetFrame, _ pair: Pair) {
        guard let direction = directions[pair], canPass(pair) else {
            directions[pair]?.counts.cutOff += 1
            return
        }
        guard direction.faults.scope == .everything || frame.isDatagram else { return deliver(frame, pair) }
        guard let fate = directions[pair]?.sequence.next(direction.faults) else { return }
        directions[pair]?.counts.note(fate)
        for delay in fate.copies {
            if delay == 0 { deliver(frame, pair) } else { hold(frame, pair, milliseconds: delay) }
        }
    }

    private func canPass(_ pair: Pair) -> Bool {
        let ends = ports.filter { $0.host == pair.from || $0.host == pair.to }
        return directions[pair]?.isDark == false && ends.allSatisfy(\.isPlugged)
    }

    /// Holds a frame. Frames due at the same time keep their order.
    private mutating func hold(_ frame: EthernetFrame, _ pair: Pair, milliseconds: Int) {
        let due = monotonic() + milliseconds * 1_000_000
        let place = waiting.lastIndex { $0.due > due }.map { $0 + 1 } ?? 0
        waiting.insert(Waiting(due: due, frame: frame, pair: pair), at: place)
    }

    mutating func deliverDue(_ time: Int) {
        while let next = waiting.last, next.due <= time {
            waiting.removeLast()
            if canPass(next.pair) { deliver(next.frame, next.pair) } else { directions[next.pair]?.counts.cutOff += 1 }
        }
    }

    private mutating func deliver(_ frame: EthernetFrame, _ pair: Pair) {
        guard let port = ports.first(where: { $0.host == pair.to }) else { return }
        if frame.isDatagram, var direction = directions[pair] {
            direction.lastDatagram = now()
            direction.firstDatagram = direction.firstDatagram ?? direction.lastDatagram
            directions[pair] = direction
        }
        _ = frame.bytes.withUnsafeBytes { write(port.descriptor, $0.baseAddress, $0.count) }
    }

    mutating func close() {
        ports.forEach { _ = Glibc.close($0.descriptor) }
        ports = []
        waiting = []
    }
}
