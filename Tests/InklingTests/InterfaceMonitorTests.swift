import Foundation
import Inkling
import NIOPosix
import Testing

@Suite("Interface monitor")
struct InterfaceMonitorTests {
    private static func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    @Test("a monitor that is gone leaves no descriptor behind, 200 times (R27)")
    func leaksNothing() async throws {
        for _ in 0..<3 { _ = InterfaceMonitor(on: MultiThreadedEventLoopGroup.singleton.next()) {} }
        try await ContinuousClock().sleep(for: .milliseconds(100))
        let before = try Self.openDescriptors()
        for _ in 0..<200 { _ = InterfaceMonitor(on: MultiThreadedEventLoopGroup.singleton.next()) {} }
        // The event loop closes the monitors' descriptors later. Other tests hold some too.
        for _ in 0..<500 where try Self.openDescriptors() > before + 100 {
            try await ContinuousClock().sleep(for: .milliseconds(20))
        }
        #expect(try Self.openDescriptors() <= before + 100)
    }
}
