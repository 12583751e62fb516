import InklingCore
import NIOCore

/// Hands what the socket received to the node, on the event loop that both run on.
final class DatagramReceiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let node: Node

    init(node: Node) { self.node = node }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let address = envelope.remoteAddress.withSockAddr({ name, _ in Address(name, port: nil) }) else { return }
        let bytes = Array(envelope.data.readableBytesView)
        let arrival = envelope.metadata?.packetInfo.flatMap { info in
            info.destinationAddress.withSockAddr { name, _ in Address(name, port: 0) }
                .map { Arrival(address: $0, interface: UInt32(info.interfaceIndex)) }
        }
        node.assumeIsolated { $0.received(bytes, from: address, at: arrival) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        node.assumeIsolated { $0.readCompleted() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The channel stays open: what a socket reports asynchronously is not a reason to stop.
    }
}
