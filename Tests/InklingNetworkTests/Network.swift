import Foundation
import Glibc
import Testing

/// A few hosts on their own switch. Each host is a set of namespaces (network, mounts, host name, processes) with a
/// fresh `/run`, and its own D-Bus and Avahi daemons. A veth pair joins each host to a bridge in a further network
/// namespace. Root prepares a host, and an ordinary ``User`` runs the programs there.
///
/// Nothing has a name outside the namespaces, and the first process of each namespace ends with its input. So after the
/// test run, even a failed one, the kernel removes all processes and interfaces.
final class Network: Sendable {
    enum IPv6 { case none, linkLocal, global }

    struct Options {
        var hosts = 3
        var ipv4 = true
        var ipv6 = IPv6.global
        var discovery = true
    }

    let hosts: [Host]
    let bridge: Host

    private init(hosts: [Host], bridge: Host) {
        self.hosts = hosts
        self.bridge = bridge
    }

    /// Brings a network up, calls `body` with it, and takes it down.
    static func with(_ options: Options, _ body: (Network) async throws -> Void) async throws {
        let bridge = try await Host(name: "switch", number: 0)
        defer { bridge.end() }
        try await bridge.run("ip link add bridge type bridge mcast_snooping 0 && ip link set bridge up")
        var hosts: [Host] = []
        defer { hosts.forEach { $0.end() } }
        for number in 1...options.hosts {
            let host = try await Host(name: "host\(number)", number: number)
            hosts.append(host)
            // The command makes both ends of the pair inside namespaces, one in the switch's and one in the host's.
            // Neither end ever exists in this machine's own network.
            try await bridge.enteringNetworkOnly(
                "ip link add port\(host.number) type veth peer name eth0 netns \(host.processID)"
                    + " && ip link set port\(host.number) master bridge up")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for host in hosts { group.addTask { try await host.configure(options) } }
            try await group.waitForAll()
        }
        try await body(Network(hosts: hosts, bridge: bridge))
    }

    static func with(hosts: Int, _ body: (Network) async throws -> Void) async throws {
        try await with(Options(hosts: hosts), body)
    }

    subscript(index: Int) -> Host { hosts[index] }

    /// Pulls the cable of a host, at the switch.
    func cut(_ host: Host) async throws { try await bridge.run("ip link set port\(host.number) down") }

    func mend(_ host: Host) async throws { try await bridge.run("ip link set port\(host.number) up") }
}

/// The ordinary user of each host, who owns its `/run` and runs the programs. D-Bus refuses users without an entry in
/// `/etc/passwd`.
enum User {
    static let id: uid_t = 59_999
    static let name = "ordinary"
    static let home = "/run/home"
    /// Root's own `PATH` may lead through folders that only root can read.
    static let searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    static let passwordEntry = "\(name):x:\(id):\(id)::\(home):/bin/sh"

    /// Returns a command line that becomes the user with this ID, and runs `arguments`.
    static func command(_ arguments: [String], id: uid_t = id) -> [String] {
        ["setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--"] + arguments
    }
}

/// One host of a test network.
final class Host: Sendable {
    let name: String
    let number: Int
    /// The process ID, on this machine, of the outermost process of the namespaces.
    let processID: pid_t
    private let holder: Child

    fileprivate init(name: String, number: Int) async throws {
        precondition(Turn.isTaken, "a suite that makes hosts has to be .sideBySide or .alone")
        self.name = name
        self.number = number
        // `cat` ends with the test run, and its end ends the process namespace. SIGCHLD is ignored, so that no zombies
        // stay.
        let script = """
            mount -t tmpfs -o mode=755,uid=\(User.id),gid=\(User.id) tmpfs /run && hostname "$0" && ip link set lo up &&
                { cat /etc/passwd; echo '\(User.passwordEntry)'; } >/run/passwd && mount --bind /run/passwd /etc/passwd &&
                install -d -m 700 -o \(User.id) -g \(User.id) \(User.home) || exit
            echo ready; exec env --ignore-signal=CHLD cat >/dev/null
            """
        let unshare = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        holder = try Child(unshare + ["sh", "-c", script, name])
        // The kernel makes and removes networks one at a time, for all suites.
        let deadline = now() + 20
        while holder.outputCount == 0 {
            if holder.ending != nil || now() > deadline {
                throw HarnessError("no namespaces for \(name): \(holder.errorText)")
            }
            try await pause(0.002)
        }
        guard let first = holder.onlyChild else { throw HarnessError("\(name) ended as it began") }
        processID = first
    }

    fileprivate func configure(_ options: Network.Options) async throws {
        var script = """
            set -e
            echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
            echo \(options.ipv6 == .none ? 1 : 0) >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
            echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
            ip link set eth0 up
            ip route add 224.0.0.0/4 dev eth0
            """
        if options.ipv4 { script += "\nip address add 10.77.0.\(number)/24 dev eth0" }
        if options.ipv6 == .global { script += "\nip address add fd77::\(number)/64 dev eth0 nodad" }
        try await run(script)
        if options.discovery {
            try await run("mkdir -p /run/dbus && dbus-daemon --system --fork")
            try await startAvahi()
        }
    }

    var ipv4Address: [UInt8] { [10, 77, 0, UInt8(number)] }

    /// Returns a command line that runs `arguments` in all of this host's namespaces, as its ordinary user.
    func command(_ arguments: [String]) -> [String] { rootCommand(User.command(arguments)) }

    /// Returns a command line that runs `arguments` in all of this host's namespaces, as root.
    func rootCommand(_ arguments: [String]) -> [String] {
        ["nsenter", "--target", "\(processID)", "--net", "--mount", "--uts", "--pid", "--"] + arguments
    }

    /// Runs a script as root.
    @discardableResult
    func run(_ script: String) async throws -> String {
        try await InklingNetworkTests.run(rootCommand(["sh", "-c", script]))
    }

    /// Runs a script as the host's ordinary user.
    @discardableResult
    func runAsUser(_ script: String) async throws -> String {
        try await InklingNetworkTests.run(command(["sh", "-c", script]))
    }

    /// Runs a script in the network namespace only. `ip … netns PID` needs a process ID from outside the host's process
    /// namespace.
    fileprivate func enteringNetworkOnly(_ script: String) async throws {
        try await InklingNetworkTests.run(["nsenter", "--target", "\(processID)", "--net", "--", "sh", "-c", script])
    }

    func startAvahi() async throws {
        try await run(
            """
            printf '[server]\\nhost-name=\(name)\\nallow-interfaces=eth0\\nuse-ipv4=yes\\nuse-ipv6=yes\\n\
            [publish]\\npublish-workstation=no\\npublish-hinfo=no\\n' >/run/avahi.conf
            avahi-daemon -f /run/avahi.conf -D --no-rlimits
            """)
    }

    /// Kills the daemon, and waits for its end. Otherwise the next daemon would refuse to start.
    func killAvahi() async throws {
        try await run(
            """
            daemon=$(cat /run/avahi-daemon/pid)
            kill -9 "$daemon"
            for _ in $(seq 500); do
                grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$daemon/status" || break
                sleep 0.01
            done
            rm -f /run/avahi-daemon/pid
            """)
    }

    /// Drops one in ten arriving UDP datagrams, except those of mDNS.
    func dropOneInTen() async throws {
        try await run(
            """
            nft add table inet loss
            nft add chain inet loss input '{ type filter hook input priority 0; }'
            nft add rule inet loss input iifname eth0 udp dport != 5353 numgen random mod 10 0 drop
            """)
    }

    /// Drops all arriving UDP until ``passUDP()``.
    func dropUDP() async throws {
        try await run(
            """
            nft add table inet hole
            nft add chain inet hole input '{ type filter hook input priority 0; }'
            nft add rule inet hole input meta l4proto udp drop
            """)
    }

    func passUDP() async throws { try await run("nft delete table inet hole") }

    /// Runs `body` on this thread inside the host's network. A socket made there stays there.
    func inNetwork<Result>(_ body: () throws -> Result) throws -> Result {
        guard let symbol = dlsym(nil, "setns") else { throw HarnessError("no setns") }
        let enter = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        let host = open("/proc/\(processID)/ns/net", O_RDONLY | O_CLOEXEC)
        defer {
            close(home)
            close(host)
        }
        let network = Int32(0x4000_0000)  // CLONE_NEWNET
        guard home >= 0, host >= 0, enter(host, network) == 0 else {
            throw HarnessError("cannot enter the network of \(name): \(String(cString: strerror(errno)))")
        }
        defer { precondition(enter(home, network) == 0, "cannot leave the network of \(name)") }
        return try body()
    }

    fileprivate func end() { holder.closeInput() }
}

extension Child {
    /// The only child of `unshare` or `nsenter`, which is the program in a process namespace. The process ID is that of
    /// this machine.
    var onlyChild: pid_t? { Child.children(of: processID).first }

    /// Returns the children of all threads of a process.
    static func children(of process: pid_t) -> [pid_t] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let path = "/proc/\(process)/task/\(task)/children"
            return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: " ")
                .compactMap { pid_t($0) }
        }.sorted()
    }
}
