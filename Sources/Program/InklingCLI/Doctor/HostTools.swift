import CProcess
@preconcurrency import Glibc
import InklingModel

/// The other programs of this machine.
package enum HostTools {
    /// The longest time for the output of a command.
    private static let patience = Duration.seconds(10)
    private static let maximumOutput = 16 << 20

    /// Returns the output of a command; nil if the command is missing, fails, or takes too long.
    package static func output(of command: [String]) -> String? {
        guard let path = path(of: command[0]), let (output, isSuccess) = run(path, command, within: patience) else {
            return nil
        }
        return isSuccess ? output : nil
    }

    /// Runs a program, and returns its output, and whether it succeeded; nil if it can't start or takes too long.
    ///
    /// - Parameter variables: The variables that the environment of the program has beside those of this program.
    static func run(
        _ path: String, _ command: [String], with variables: [String: String] = [:], within patience: Duration
    ) -> (String, isSuccess: Bool)? {
        guard let (child, output) = start(path, command, variables) else { return nil }
        let end = ContinuousClock.now + patience
        let bytes = read(output, until: end)
        close(output)
        if bytes == nil { kill(child, SIGKILL) }
        let isSuccess = wait(for: child, until: end)
        return bytes.map { (String(decoding: $0, as: UTF8.self), isSuccess) }
    }

    /// Starts a program with an empty input, and its output on a pipe.
    private static func start(
        _ path: String, _ command: [String], _ variables: [String: String]
    ) -> (child: pid_t, output: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program inherits no ignored or blocked signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let arguments = command.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        let environment = ChildProcess.environment(with: variables).map { strdup($0) } + [nil]
        defer { environment.forEach { free($0) } }
        var child: pid_t = 0
        guard posix_spawn(&child, path, &actions, &attributes, arguments, environment) == 0 else {
            close(ends[0])
            return nil
        }
        return (child, ends[0])
    }

    /// Reads a pipe to its end; nil if the end does not come in time.
    private static func read(_ pipe: Int32, until end: ContinuousClock.Instant) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= maximumOutput {
            let rest = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            var readable = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            guard rest > 0, poll(&readable, 1, Int32(rest) + 1) >= 0 || errno == EINTR else { return nil }
            guard readable.revents != 0 else { continue }
            let count = Glibc.read(pipe, &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
        return nil
    }

    /// Returns whether a child exits with 0 in time. The function kills a child that takes too long.
    private static func wait(for child: pid_t, until end: ContinuousClock.Instant) -> Bool {
        var status: Int32 = 0
        while true {
            switch waitpid(child, &status, WNOHANG) {
            case child: return status == 0
            case 0: break
            default: if errno != EINTR { return false }
            }
            if ContinuousClock.now > end { kill(child, SIGKILL) }
            usleep(5_000)
        }
    }

    /// Returns the path of a program, including programs for administrators.
    static func path(of program: String) -> String? {
        let folders = (ChatSettings.environment("PATH") ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// Returns the command that starts a system service. The command uses the service manager if that runs and knows
    /// the service.
    static func start(_ program: String, unit: String, without command: String, package: String) -> String {
        ServiceUnit.startLine(
            isInstalled: path(of: program) != nil, isManaged: ServiceUnit.isManaged(unit), unit: unit, without: command,
            package: package)
    }

    static let avahiStart = "sudo avahi-daemon -D --no-rlimits"

    /// The command that starts the system bus. The command works even beside the file of a dead bus, or of a bus that
    /// no program can reach.
    static var busStart: String {
        let file = "/run/dbus/pid"
        var line = "sudo mkdir -p /run/dbus && "
        if let number = try? SmallFile.text(file, maximumBytes: 32).trimmed {
            let program = Int32(number).flatMap { try? SmallFile.text("/proc/\($0)/comm", maximumBytes: 64) }
            if program == "dbus-daemon\n" { line += "sudo kill \(number) && " }
            line += "sudo rm -f \(file) && "
        }
        return line + "sudo dbus-daemon --system --fork"
    }

    /// Returns the system's reason for a failed connection to a socket, in parentheses after a blank. The text is empty
    /// for a missing socket, because the finding already reports that. The result is nil if the connection succeeds.
    static func failureToConnect(_ path: String) -> String? {
        do {
            close(try UnixSocket.connect(to: path))
            return nil
        } catch {
            return error == .system(ENOENT) ? "" : " (\(error.text))"
        }
    }

    /// Returns the source address that this host uses for a datagram to the mDNS group; nil without a route.
    static func multicastSource() -> String? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
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

    /// Returns whether an interface belongs to a wireless network.
    static func isWireless(_ interface: String) -> Bool {
        ["wireless", "phy80211"].contains { access("/sys/class/net/\(interface)/\($0)", F_OK) == 0 }
    }

    /// Returns the range of ports from which the system chooses.
    static func chosenPorts() -> ClosedRange<UInt16>? {
        let text = try? SmallFile.text("/proc/sys/net/ipv4/ip_local_port_range", maximumBytes: 64)
        let ends = (text ?? "").split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
        return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : nil
    }

    /// Whether the system has firewall rules that `nft` does not show. Only root can tell.
    static var hasOlderFirewallRules: Bool {
        ["ip_tables_names", "ip6_tables_names"].contains { name in
            let tables = try? SmallFile.text("/proc/net/\(name)", maximumBytes: 4_096)
            return tables?.split(whereSeparator: \.isNewline).contains("filter") == true
        }
    }
}

/// The files that make a service known to a service manager.
package enum ServiceUnit {
    private static let folders = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"]

    /// Returns whether systemd runs, and has a file for a service of the system.
    static func isManaged(_ unit: String) -> Bool {
        isThere("/run/systemd/system") && folders.contains { isThere("\($0)/systemd/system/\(unit).service") }
    }

    /// Returns whether systemd runs for this user, and has a file for a service of the user.
    static func isManagedForUser(_ unit: String) -> Bool {
        guard isThere("/run/user/\(geteuid())/systemd") else { return false }
        let home = ChatSettings.environment("HOME").map { $0 + "/.config" }
        let own = [ChatSettings.environment("XDG_CONFIG_HOME") ?? home].compactMap { $0 }
        return (own + folders).contains { isThere("\($0)/systemd/user/\(unit).service") }
    }

    /// Returns the command that starts a service.
    ///
    /// - Parameters:
    ///   - isInstalled: whether the machine has the service's program.
    ///   - isManaged: whether a service manager runs and knows the service.
    ///   - command: the command without a service manager.
    ///   - package: the package to install if the program is missing.
    package static func startLine(
        isInstalled: Bool, isManaged: Bool, unit: String, without command: String, package: String
    ) -> String {
        guard isInstalled else { return "sudo apt-get install \(package)" }
        return isManaged ? "sudo systemctl start \(unit)" : command
    }

    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
