import Foundation
import InklingConsole

/// What a doctor found out about one thing.
struct Finding: Sendable {
    enum Status: String, Sendable {
        case ok, note, problem
    }

    let check: String
    let status: Status
    let text: String
    /// The line that mends it.
    let mend: String?

    static func ok(_ check: String, _ text: String) -> Finding {
        Finding(check: check, status: .ok, text: text, mend: nil)
    }

    static func note(_ check: String, _ text: String, mend: String? = nil) -> Finding {
        Finding(check: check, status: .note, text: text, mend: mend)
    }

    static func problem(_ check: String, _ text: String, mend: String?) -> Finding {
        Finding(check: check, status: .problem, text: text, mend: mend)
    }

    var lines: [String] {
        let label = status.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0)
        let first = label + SafeText.line("\(check): \(text)")
        return [first] + (mend.map { ["         mend it: " + SafeText.line($0)] } ?? [])
    }

    var value: JSONValue {
        var members: [(String, JSONValue)] = [
            ("check", .string(check)), ("status", .string(status.rawValue)), ("text", .string(text)),
        ]
        if let mend { members.append(("mend", .string(mend))) }
        return .object(members)
    }
}

/// What runs on this machine beside Inkling.
enum Machine {
    /// What a command prints; nil if there is none of that name, or it fails.
    static func output(of command: [String]) -> String? {
        guard let path = path(of: command[0]) else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = Array(command.dropFirst())
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? String(decoding: data, as: UTF8.self) : nil
    }

    /// Where a program is, also one for administrators.
    static func path(of program: String) -> String? {
        let folders = (ChatSettings.environment("PATH") ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// The line that starts a service, with the system's manager or without.
    static func start(_ service: String, without command: String, package: String) -> String {
        guard path(of: service) != nil else { return "sudo apt-get install \(package)" }
        return access("/run/systemd/system", F_OK) == 0 ? "sudo systemctl start \(service)" : command
    }

    /// The system's reason why nobody answers at a socket of the file system; nil if somebody does.
    static func failureToConnect(_ path: String) -> String? {
        let socket = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return String(cString: strerror(errno)) }
        defer { close(socket) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else { return "its path is too long" }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return status == 0 ? nil : String(cString: strerror(errno))
    }

    /// The own address that a datagram to the group of mDNS would leave from; nil without a route.
    static func multicastSource() -> String? {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        defer { close(socket) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = in_port_t(5_353).bigEndian
        name.sin_addr.s_addr = in_addr_t(0xE000_00FB).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard status, let text = inet_ntoa(name.sin_addr) else { return nil }
        return String(cString: text)
    }
}

/// What a firewall does to the datagrams of a node, as far as its rules can be read.
///
/// It does not replay the rules: it names those that may stand in the way.
package enum Firewall {
    package struct Obstacle: Equatable {
        package let rule: String
        package let mend: String
    }

    /// - Parameters:
    ///   - rules: What `nft list ruleset` prints.
    ///   - port: The node's UDP port; nil if it is any.
    package static func obstacles(nftables rules: String, port: UInt16?) -> [Obstacle] {
        var obstacles: [Obstacle] = []
        var table = ""
        var chain: Chain?
        for line in rules.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "table"? where words.count >= 3: table = "\(words[1]) \(words[2])"
            case "chain"? where words.count >= 2: chain = Chain(place: "\(table) \(words[1])", port: port)
            case "}"?:
                if let chain { obstacles += chain.obstacles }
                chain = nil
            default: chain?.read(line)
            }
        }
        return obstacles
    }

    private struct Chain {
        let place: String
        let port: UInt16?
        private var filters = false
        private var drops = false
        /// The needed ports that a rule has let through by now.
        private var open: Set<UInt16> = []
        private var found: [String] = []

        init(place: String, port: UInt16?) {
            self.place = place
            self.port = port
        }

        /// mDNS and the node's own.
        private var needed: Set<UInt16> { Set([5_353] + (port.map { [$0] } ?? [])) }

        mutating func read(_ line: String) {
            if line.hasPrefix("type ") {
                filters = line.contains("hook input") || line.contains("hook output")
                drops = line.contains("policy drop")
                return
            }
            // A rule on another protocol, or on what belongs to a connection, does not concern datagrams that begin one.
            let other = ["tcp ", "icmp", "sctp ", "ct state", "\"lo\"", "igmp"]
            guard filters, !other.contains(where: line.contains) else { return }
            let verdict = line.split(separator: " ").map(String.init)
            let ports = Self.ports(line)
            if verdict.contains("accept") {
                open.formUnion(needed.filter { ports?.contains($0) ?? true })
                if ports == nil, !line.contains("saddr"), !line.contains("daddr") { drops = false }
            } else if verdict.contains("drop") || verdict.contains("reject") {
                let isHit = needed.subtracting(open).contains { ports?.contains($0) ?? true }
                // The other ports are hit as well where the node's may be any.
                let isAny = port == nil && (ports.map { $0.isWide } ?? true)
                if isHit || isAny { found.append(line) }
            }
        }

        var obstacles: [Obstacle] {
            guard filters else { return [] }
            let wanted = port.map { "{ 5353, \($0) }" } ?? "{ 5353, 1024-65535 }"
            let mend = "sudo nft insert rule \(place) udp dport \(wanted) accept"
            var rules = found
            let isShut = drops && (!needed.subtracting(open).isEmpty || port == nil)
            if isShut { rules.append("policy drop") }
            return rules.map { Obstacle(rule: "\($0) (chain \(place))", mend: mend) }
        }

        /// The destination ports that a rule is about; nil if it is about all.
        private static func ports(_ line: String) -> Ports? {
            guard let start = line.range(of: "dport ") else { return nil }
            var text = line[start.upperBound...]
            let isNegated = text.hasPrefix("!= ")
            if isNegated { text = text.dropFirst(3) }
            let set = text.hasPrefix("{") ? text.dropFirst().prefix { $0 != "}" } : text.prefix { $0 != " " }
            let ranges = set.split(separator: ",").compactMap { part -> ClosedRange<UInt16>? in
                let ends = part.split(separator: "-").map { number($0) }
                guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else { return nil }
                return first...last
            }
            return Ports(ranges: ranges, isNegated: isNegated)
        }

        private static func number(_ text: Substring) -> UInt16? {
            let word = text.trimmingCharacters(in: .whitespaces)
            return word == "mdns" ? 5_353 : UInt16(word)
        }
    }

    private struct Ports {
        let ranges: [ClosedRange<UInt16>]
        let isNegated: Bool

        var isWide: Bool { isNegated || ranges.contains { $0.count > 10_000 } }
        func contains(_ port: UInt16) -> Bool { ranges.contains { $0.contains(port) } != isNegated }
    }
}
