import Testing

extension NetworkTests {
    @Suite("Standard input and output", .serialized, .sideBySide) struct StreamTests {
        /// Runs a shell script, in which `$0` is the program, to its end.
        private static func shell(_ script: String, on host: Host) async throws -> CommandTests.Answer {
            let child = try Child(
                host.command(["sh", "-c", script, try NodeProcess.program()]),
                environment: ["XDG_CONFIG_HOME": "/run/config", "XDG_STATE_HOME": "/run/state"])
            child.closeInput()
            let ending = try await child.waitForEndAndOutput(within: 10)
            return CommandTests.Answer(
                ending: ending, text: child.output.map(\.text).joined(separator: "\n"), errors: child.errorText)
        }

        @Test("output that can't be written is a failure, and one that nobody reads ends a watch")
        func output() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                for place in [">/dev/full", ">&-"] {
                    for command in ["invite team", "peers --json --wait 0.1 --no-discovery"] {
                        let answer = try await StreamTests.shell("\"$0\" \(command) \(place)", on: network[0])
                        #expect(answer.ending == .exited(1), "\(command) \(place)")
                        #expect(answer.errors.contains("the output can't be written"), "\(answer.errors)")
                    }
                }
                let copy = try await StreamTests.shell(
                    """
                    "$0" identity export - 2>/dev/null | XDG_STATE_HOME=/run/other "$0" identity import - >/dev/null
                    cmp /run/state/inkling/identity /run/other/inkling/identity && test ! -e ./- && echo same
                    """, on: network[0])
                #expect(copy.text == "same", "\(copy.errors)")
                let watched = try await StreamTests.shell(
                    "{ \"$0\" watch --no-discovery; echo $? >&2; } | head -n 1", on: network[0])
                #expect(watched.ending == .exited(0) && watched.errors.hasSuffix("\n0"), "\(watched.errors)")
            }
        }
    }
}
