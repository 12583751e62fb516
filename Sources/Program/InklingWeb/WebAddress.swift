import Inkling

/// The address of the page's server: one of 127.0.0.0/8, and a port.
///
/// Browsers keep storage and service workers for an address and port. A random address has nothing of another server.
package struct WebAddress: Equatable, Sendable {
    /// The address and port of the listening socket.
    package let end: ConnectionOwner.End

    package init(_ end: ConnectionOwner.End) {
        self.end = end
    }

    /// Returns an address from 127.0.1.0 to 127.255.254.255. Others could have a meaning on this host.
    package static func random(using random: inout some RandomNumberGenerator) -> UInt32 {
        UInt32.random(in: 0x7F00_0100...0x7FFF_FEFF, using: &random)
    }

    /// The value of `Host`.
    package var host: String {
        let bytes = stride(from: 24, through: 0, by: -8).map { String(end.address >> UInt32($0) & 0xFF) }
        return bytes.joined(separator: ".") + ":\(end.port)"
    }

    /// The address without the port.
    package var name: String { String(host.prefix { $0 != ":" }) }

    /// The origin of the page.
    package var origin: String { "http://" + host }

    /// Returns the address of the page with a ticket.
    package func link(ticket: String) -> String { "\(origin)/#ticket=\(ticket)" }

    /// The headers of each response.
    package var headers: [(String, String)] {
        [
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src ws://\(host); "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                    + "trusted-types 'none'"
            ),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("X-DNS-Prefetch-Control", "off"),
        ]
    }
}
