import InklingCore
import NIOCore
import Synchronization

/// Passes received datagrams to the node, on the event loop of both.
final class DatagramReceiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let node: Node
    private let buffers: DatagramBuffers

    init(node: Node, buffers: DatagramBuffers) {
        self.node = node
        self.buffers = buffers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let address = envelope.remoteAddress.withSockAddr({ name, _ in Address(name, port: nil) }) else { return }
        let bytes = Array(envelope.data.readableBytesView)
        let arrival = envelope.metadata?.packetInfo.flatMap { info in
            info.destinationAddress.withSockAddr { name, _ in Address(name, port: 0) }
                .map { Arrival(address: $0, interface: UInt32(info.interfaceIndex)) }
        }
        node.onLoop { $0.received(bytes, from: address, at: arrival, hopLimit: buffers.hopLimit) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        node.onLoop { $0.readCompleted() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The channel stays open, because an asynchronous error of a socket does not end it.
    }
}

/// The buffers for datagrams, and the hop limit of the datagram being read.
///
/// SwiftNIO does not report hop limits. But before each datagram SwiftNIO asks for the size of a buffer, while the
/// datagram still waits in the socket.
final class DatagramBuffers: RecvByteBufferAllocator {
    private let socket: UDPSocket
    private let latest = Mutex<Int?>(nil)

    init(for socket: UDPSocket) { self.socket = socket }

    /// The hop limit of the datagram read last; nil if unknown.
    var hopLimit: Int? { latest.withLock { $0 } }

    func nextBufferSize() -> Int? {
        let next = socket.nextHopLimit
        latest.withLock { $0 = next }
        return NodeLimits.receiveBufferSize
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: NodeLimits.receiveBufferSize)
    }

    func record(actualReadBytes: Int) -> Bool { false }
}
