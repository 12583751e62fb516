import Glibc
import ProcessSupport
import Testing

/// Checks of the switch that the tests of bad networks use.
@Suite("Switch of bad networks") struct SwitchTests {
    @Test("the same seed gives the same fates, another seed or direction others")
    func repeatable() {
        let faults = Faults(lost: 20, doubled: 20, delayed: 20)
        func fates(seed: UInt64, from source: Int, to target: Int) -> [Fate] {
            var sequence = FaultSequence(seed: seed, from: source, to: target)
            return (0..<1_000).map { _ in sequence.next(faults) }
        }
        let first = fates(seed: 7, from: 1, to: 2)
        #expect(first == fates(seed: 7, from: 1, to: 2))
        #expect(first != fates(seed: 8, from: 1, to: 2))
        #expect(first != fates(seed: 7, from: 2, to: 1))
    }

    @Test("the fate of a frame is the same, whatever the faults were before")
    func independent() {
        let faults = Faults(lost: 20, doubled: 20, delayed: 20)
        var (quiet, stormy) = (FaultSequence(seed: 3, from: 1, to: 2), FaultSequence(seed: 3, from: 1, to: 2))
        for _ in 0..<100 {
            _ = quiet.next(.none)
            _ = stormy.next(Faults(lost: 50, doubled: 50, delayed: 50, delay: 5...9))
        }
        #expect((0..<100).map { _ in quiet.next(faults) } == (0..<100).map { _ in stormy.next(faults) })
    }

    @Test("of 100,000 frames as many are lost, doubled and delayed as was asked for, within half a percent")
    func shares() {
        var sequence = FaultSequence(seed: 5, from: 3, to: 4)
        var counts = FaultCounts()
        var delays: Set<Int> = []
        for _ in 0..<100_000 {
            let fate = sequence.next(Faults(lost: 30, doubled: 10, delayed: 25, delay: 1...200))
            counts.note(fate)
            delays.formUnion(fate.copies)
        }
        #expect((29_500...30_500).contains(counts.lost))
        // The expected number of doubled frames among those not lost. Each copy may also be delayed.
        #expect((6_500...7_500).contains(counts.doubled))
        #expect((18_750...19_750).contains(counts.delayed))
        #expect(delays == Set(0...200))
    }

    @Test("translating a port keeps the checksum true")
    func checksum() throws {
        let payload: [UInt8] = Array("of odd length".utf8)
        let udp: [UInt8] = [0x9c, 0x41, 0x9c, 0x42, 0, UInt8(8 + payload.count), 0, 0] + payload
        let ends: [UInt8] = [10, 77, 0, 1, 10, 77, 0, 2]
        func sum(_ datagram: [UInt8]) -> UInt16 {
            let bytes = ends + [0, 17, 0, UInt8(datagram.count)] + datagram + [0]
            var sum: UInt32 = 0
            for index in stride(from: 0, to: bytes.count - 1, by: 2) {
                sum += UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
            }
            while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
            return UInt16(sum)
        }
        let whole = ~sum(udp)
        let header: [UInt8] = [0x45, 0, 0, UInt8(20 + udp.count), 0, 0, 0x40, 0, 64, 17, 0, 0] + ends
        var bytes = [UInt8](repeating: 2, count: 12) + [0x08, 0x00] + header + udp
        bytes.replaceSubrange(40..<42, with: [UInt8(whole >> 8), UInt8(whole & 0xff)])
        var frame = try #require(EthernetFrame(bytes))
        #expect(frame.isDatagram)
        for port: UInt16 in [1, 50_000, 0xffff] {
            frame.setSourcePort(port)
            frame.setDestinationPort(port &- 7)
            #expect(frame.sourcePort == port)
            #expect(frame.destinationPort == port &- 7)
            #expect(sum(Array(frame.bytes[34...])) == 0xffff)
        }
    }
}

extension NetworkTests {
    @Suite(
        "Switch of bad networks", .serialized, .sideBySide, .standalone("no node runs here"),
        .enabled(if: hasTAP, "left out: there is no /dev/net/tun"))
    struct UserSpaceSwitchTests {
        @Test("of 1,000 datagrams it loses, doubles and reorders as many as it says, and in another run the same ones")
        func faults() async throws {
            let faults = Faults(lost: 20, doubled: 10, delayed: 25, delay: 1...50)
            var runs: [[Int]] = []
            for _ in 0..<2 {
                let (received, counts) = try await UserSpaceSwitchTests.send(1_000, through: faults)
                figure("the switch: \(counts.text); \(received.count) arrived")
                #expect(counts.seen == 1_000)
                #expect(received.count == counts.seen - counts.lost + counts.doubled)
                #expect((150...250).contains(counts.lost))
                #expect(Set(received).count == counts.seen - counts.lost)
                let overtaken = zip(received, received.dropFirst()).count { $0 > $1 }
                #expect(overtaken > 100)
                runs.append(received.sorted())
            }
            #expect(runs[0] == runs[1])
        }

        @Test("a good switch delivers all of 1,000 datagrams, in order; a dark one, or one without the cable, nothing")
        func good() async throws {
            let (received, _) = try await UserSpaceSwitchTests.send(1_000, through: .none)
            #expect(received == Array(0..<1_000))
            let dark = try await UserSpaceSwitchTests.send(100, through: .none) { $0.switch.darken(from: $0[0]) }
            #expect(dark.received.isEmpty)
            let other = try await UserSpaceSwitchTests.send(100, through: .none) { $0.switch.darken(to: $0[0]) }
            #expect(other.received.count == 100)
            let unplugged = try await UserSpaceSwitchTests.send(100, through: .none) { $0.switch.unplug($0[0]) }
            #expect(unplugged.received.isEmpty)
        }

        /// Sends numbered datagrams from one host to another, one a millisecond. Returns the numbers that arrived, in
        /// order.
        private static func send(
            _ count: Int, through faults: Faults, prepare: (BadLAN) -> Void = { _ in }
        ) async throws -> (received: [Int], counts: FaultCounts) {
            var received: [Int] = []
            var counts = FaultCounts()
            try await BadLAN.with(Network.Options(hosts: 2, ipv6: .none, discovery: false)) { lan in
                let ends = [lan[0], lan[1]].map { UDPSocket.End($0.ipv4Address, port: 40_000) }
                let sender = try lan[0].inNetwork { try UDPSocket(ends[0]) }
                let receiver = try lan[1].inNetwork { try UDPSocket(ends[1]) }
                func arrived() -> [Int] { receiver.receiveAll().map { Int($0.bytes[0]) << 8 | Int($0.bytes[1]) } }
                // This datagram resolves the addresses.
                sender.send([0xff], to: ends[1])
                try await pause(0.1)
                let before = receiver.receiveAll().count
                try #require(before == 1)
                lan.switch.set(faults)
                prepare(lan)
                for number in 0..<count {
                    sender.send([UInt8(number >> 8), UInt8(number & 0xff)], to: ends[1])
                    try await pause(0.001)
                    received += arrived()
                }
                try await pause(0.3)
                received += arrived()
                counts = lan.switch.counts(from: lan[0], to: lan[1])
            }
            return (received, counts)
        }
    }
}
