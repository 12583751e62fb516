import ArgumentParser
import Dispatch
import Foundation
import InklingSimulator
import Synchronization

/// Tells by one number whether a change left everything as it was.
struct DigestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest",
        abstract: "Print a digest of everything that is sent and reported in the runs of many seeds.",
        discussion: "Two programs that print the same send the same datagrams at the same times.")

    @Option(help: "Set how many seeds run.") var seeds = 1_000
    @Option(help: "Begin with this seed.") var first: UInt64 = 0
    @Option(help: "Set how many run at once; 0 for one per processor.") var jobs = 0
    @Option(help: "Set the number of hosts, 2 to 50 (default: each seed draws it).") var hosts: Int?
    @Flag(help: "Print a line for each seed.") var each = false

    func validate() throws {
        guard seeds > 0 else { throw ValidationError("--seeds: at least 1.") }
        guard hosts.map({ (2...50).contains($0) }) ?? true else { throw ValidationError("--hosts: 2 to 50.") }
    }

    func run() throws {
        let digests = Mutex([UInt64](repeating: 0, count: seeds))
        let next = Atomic<Int>(0)
        let workers = jobs > 0 ? jobs : ProcessInfo.processInfo.activeProcessorCount
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < seeds else { return }
                let digest = Simulation(Scenario(seed: first &+ UInt64(index), hosts: hosts)).run().digest
                digests.withLock { $0[index] = digest }
            }
        }
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for (index, digest) in digests.withLock({ $0 }).enumerated() {
            if each { show("\(first &+ UInt64(index)) \(String(digest, radix: 16))") }
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                sum = (sum ^ (digest >> shift & 0xFF)) &* 0x100_0000_01B3
            }
        }
        show("digest \(String(sum, radix: 16)) of \(seeds) seeds from \(first)")
    }
}
