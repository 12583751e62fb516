import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Versions", .serialized, .sideBySide) struct VersionTests {
        @Test("the version is the same for --version, in ready, and in what a daemon says of itself")
        func version() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let program = try NodeProcess.program()
                let version = try await host.run("\(program) --version").trimmingCharacters(in: .newlines)
                #expect(version.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+/) != nil, "it is \(version)")
                let node = try await NodeProcess("Alice", on: host, ["--no-discovery"])
                #expect(node.events.first?.version == version)
                let daemon = try Child(host.command([program, "daemon", "--state-dir", "/run/day", "--no-discovery"]))
                var status = ""
                let deadline = now() + 5
                while status.isEmpty {
                    if now() > deadline { throw HarnessError("no daemon: \(daemon.errorText)") }
                    try await pause(0.05)
                    status = (try? await host.run("\(program) status --json --state-dir /run/day")) ?? ""
                }
                let said = try #require(JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any])
                #expect(said["version"] as? String == version && said["program"] as? String == version)
                daemon.closeInput()
            }
        }
    }
}
