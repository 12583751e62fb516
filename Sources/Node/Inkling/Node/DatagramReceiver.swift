import InklingCore
import NIOCore

/// Passes received datagrams to the node, on the event loop of both.
final class DatagramReceiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let node: Node
    private let headers: DatagramHeaders

    init(node: Node, headers: DatagramHeaders) {
        self.node = node
        self.headers = headers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(unwrapInboundIn(data).readableBytesView)
        node.onLoop { node in
            guard let header = headers.take() else { return }
            node.received(bytes, from: header.source, at: header.arrival, hopLimit: header.hopLimit)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        node.onLoop { $0.readCompleted() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The channel stays open, because an asynchronous error of a socket does not end it.
    }
}

/// The buffers for datagrams, and the header of the datagram being read.
///
/// SwiftNIO's channel for datagrams has no hop limits, and makes a text of each address. So the socket is read as a stream
/// is: one datagram each time, without its header. But SwiftNIO asks for the size of a buffer before each read, while the
/// datagram still waits in the socket.
///
/// A datagram that arrives between the two has no header, and is dropped.
final class DatagramHeaders: RecvByteBufferAllocator {
    private let socket: UDPSocket
    /// Only the event loop uses the value.
    nonisolated(unsafe) private var header: UDPSocket.Header?

    init(for socket: UDPSocket) { self.socket = socket }

    /// Takes the header of the datagram read last; nil if unknown.
    func take() -> UDPSocket.Header? {
        defer { header = nil }
        return header
    }

    func nextBufferSize() -> Int? {
        header = socket.nextHeader()
        return NodeLimits.receiveBufferSize
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: NodeLimits.receiveBufferSize)
    }

    func record(actualReadBytes: Int) -> Bool { false }
}
