import Foundation
import Glibc

/// The resources that a process has used, from `/proc`.
struct ProcessUsage {
    /// The processor time of all threads of the process, in seconds.
    let processor: Double
    /// The time in which threads of the process waited for a processor, in seconds. Ended threads are left out.
    let waiting: Double
    /// Resident memory and its peak, in KiB.
    let resident: Int
    let peak: Int

    /// Reads the resources; nil for a process that has ended.
    init?(of process: pid_t) {
        guard
            let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let end = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        processor = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        // Each thread's file has the run time and the waiting time, both in nanoseconds, and the number of runs.
        waiting = threads.reduce(0) { sum, thread in
            let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8)
            let fields = (text ?? "").split(separator: " ")
            return sum + (fields.count > 1 ? Double(fields[1]) ?? 0 : 0) / 1e9
        }
        func size(_ name: String) -> Int? {
            status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
                .flatMap { $0.split(whereSeparator: { !$0.isNumber }).first }.flatMap { Int($0) }
        }
        guard let resident = size("VmRSS"), let peak = size("VmHWM") else { return nil }
        self.resident = resident
        self.peak = peak
    }

    /// Returns how many datagrams the network of a process has dropped because a socket was full.
    static func overflow(of process: pid_t) -> Int {
        // The IPv4 file has "Udp: InDatagrams … RcvbufErrors …", and the numbers on the next line. The IPv6 file has
        // one line for each number.
        let ipv4 = ((try? String(contentsOfFile: "/proc/\(process)/net/snmp", encoding: .utf8)) ?? "")
            .split(separator: "\n").filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
        let ipv6 = ((try? String(contentsOfFile: "/proc/\(process)/net/snmp6", encoding: .utf8)) ?? "")
            .split(separator: "\n").first { $0.hasPrefix("Udp6RcvbufErrors") }
        var count = ipv6.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
        if ipv4.count == 2, let place = ipv4[0].firstIndex(of: "RcvbufErrors"), place < ipv4[1].count {
            count += Int(ipv4[1][place]) ?? 0
        }
        return count
    }

    /// Resets the peak of a process's resident memory.
    static func resetPeak(of process: pid_t) {
        guard let file = fopen("/proc/\(process)/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}
