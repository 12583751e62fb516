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

    /// The ports that the system chooses among.
    static func chosenPorts() -> ClosedRange<UInt16>? {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let ends = (text ?? "").split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
        return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : nil
    }

    /// Whether there are firewall rules that `nft` does not show. Only root can tell.
    static var hasOlderFirewallRules: Bool {
        ["ip_tables_names", "ip6_tables_names"].contains { name in
            let tables = try? String(contentsOfFile: "/proc/net/\(name)", encoding: .utf8)
            return tables?.split(whereSeparator: \.isNewline).contains("filter") == true
        }
    }
}
