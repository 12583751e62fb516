import NIOCore

/// The limits of the page's server.
package struct WebLimits: Sendable {
    /// The most open pages.
    package static let pages = 8
    /// The most connections that have not proved to know a key.
    package static let unproved = 32
    /// The longest head of a request, in bytes, and the most bytes of a WebSocket before its proof.
    package static let head = 8 << 10
    /// The longest message of a page, in bytes, as long as a line of the API (J-4).
    package static let message = 1 << 20
    /// The longest line of a daemon, in bytes.
    static let line = 64 << 20
    /// The longest name of a chat, in bytes.
    static let name = 64
    /// The most tickets that the server remembers, used ones too.
    static let tickets = 64
    /// The most session keys.
    static let sessions = 32

    /// The time for the head of a request, for its answer, and for the proof.
    package var patience = TimeAmount.seconds(2)
    /// The time for which a ticket is valid.
    package var ticket = TimeAmount.seconds(60)
    /// The interval of WebSocket pings.
    package var ping = TimeAmount.seconds(15)
    /// The time after which the server closes a page that did not answer a ping.
    package var silence = TimeAmount.seconds(30)
    /// The interval of attempts to reach a daemon.
    package var retry = TimeAmount.milliseconds(500)
    /// The time in which another prompt may take the place of one that ran the node. Then a daemon does.
    package var successor = TimeAmount.seconds(3)
    /// The time for the first line of a daemon. A daemon that starts for this connection needs the most.
    package var greeting = TimeAmount.seconds(5)
    /// The time for the end of a WebSocket's closing handshake.
    package var closing = TimeAmount.seconds(1)

    package init() {}
}

/// The reasons for which the server closes a WebSocket, as their codes.
enum CloseCode: UInt16, Equatable {
    case ending = 1001
    case protocolError = 1002
    case notUTF8 = 1007
    case handshake = 4000
    case unknownKey = 4001
    case spentTicket = 4002
    case tooManyPages = 4003
    case tooSlow = 4004
    case message = 4005
}
