import Glibc

/// The three hosts of Scripts/benchmark attack. Each is identified by a process in its namespaces.
struct BenchNetwork {
    /// The open chat of both friends, which any stranger can join.
    static let openChat = "lobby"
    /// The secret chat of the two friends.
    static let secretChat = "kitchen"

    struct Host {
        let processID: pid_t
        let address: IPv4Address

        /// Returns the command line that runs `arguments` on this host.
        func command(_ arguments: [String]) -> [String] {
            ["nsenter", "--target", "\(processID)", "--net", "--mount", "--uts", "--"] + arguments
        }
    }

    let friend: Host
    let victim: Host
    let attacker: Host

    /// Makes the network; nil for a wrong number of processes.
    ///
    /// - Parameter holders: the processes of the friend's, the victim's and the attacker's host.
    init?(holders: [pid_t]) {
        guard holders.count == 3 else { return nil }
        func host(_ number: Int) -> Host {
            Host(processID: holders[number - 1], address: IPv4Address(value: 10 << 24 | 77 << 16 | UInt32(number)))
        }
        (friend, victim, attacker) = (host(1), host(2), host(3))
    }

    /// Starts a new discovery daemon with an empty cache on the hosts of both friends.
    func restartDiscovery() throws {
        for host in [friend, victim] {
            let script = """
                if daemon=$(cat /run/avahi-daemon/pid 2>/dev/null); then
                    kill -9 "$daemon"
                    for _ in $(seq 200); do
                        grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$daemon/status" || break
                        sleep 0.01
                    done
                    rm -f /run/avahi-daemon/pid
                fi
                avahi-daemon -f /run/avahi.conf -D --no-rlimits
                """
            let child = try Child(host.command(["sh", "-c", script]))
            child.closeInput()
            guard child.waitForEnd(seconds: 20) == 0 else { throw AttackError("the discovery daemon does not start") }
        }
    }
}
