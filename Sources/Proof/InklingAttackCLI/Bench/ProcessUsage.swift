import Foundation
import Glibc

/// What a process has used, as `/proc` has it.
struct ProcessUsage {
    /// Processor time of all its threads, in seconds.
    let processor: Double
    /// How long its threads were ready to run and had no processor, in seconds; threads that have ended are left out.
    let waiting: Double
    /// Resident memory, and the most that it has been, in KiB.
    let resident: Int
    let peak: Int

    /// nil for a process that has ended.
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
        // The time that the thread ran, the time that it waited, both in nanoseconds, and how often it ran.
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

    /// Of the datagrams that came to the network of a process so many were dropped, as its socket was full.
    static func overflow(of process: pid_t) -> Int {
        // "Udp: InDatagrams … RcvbufErrors …", and below it the numbers; for IPv6 one line each.
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

    /// From now on the peak is that of the time that follows.
    static func resetPeak(of process: pid_t) {
        guard let file = fopen("/proc/\(process)/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }
}
