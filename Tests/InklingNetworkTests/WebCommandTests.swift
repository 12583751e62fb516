import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("The command inkling web", .serialized, .sideBySide) struct WebCommandTests {
        private static let directory = "/run/inkling-page"

        fileprivate static func inkling(
            _ arguments: [String], on host: Host, through wrapper: [String] = []
        ) throws -> Child {
            try Child(
                host.command(wrapper + [try NodeProcess.program()] + arguments + ["--state-dir", directory]),
                environment: [
                    "XDG_CONFIG_HOME": "/run/config", "LOGNAME": "tool", "DISPLAY": "", "WAYLAND_DISPLAY": "",
                ])
        }

        private static func run(_ arguments: String..., on host: Host) async throws -> Child {
            let child = try inkling(arguments, on: host)
            child.closeInput()
            _ = try await child.waitForEndAndOutput(within: 20)
            return child
        }

        /// Starts a server, and returns the address that it prints.
        fileprivate static func web(_ arguments: [String] = [], on host: Host) async throws -> (Child, String) {
            let child = try inkling(["web"] + arguments, on: host)
            let deadline = now() + 15
            while child.outputCount == 0 {
                if now() > deadline || child.ending != nil { throw HarnessError("no page: \(child.errorText)") }
                try await pause(0.02)
            }
            return (child, child.output[0].text)
        }

        fileprivate static func end(_ child: Child) async throws {
            kill(try #require(child.onlyChild), SIGTERM)
            child.closeInput()
            #expect(try await child.waitForEnd() == .exited(0))
            #expect(child.errorText.isEmpty)
        }

        /// Returns the address and the ticket of a page.
        fileprivate static func parts(_ link: String) throws -> (place: String, ticket: String) {
            let match = try #require(
                link.wholeMatch(of: #/http:\/\/(127\.\d+\.\d+\.\d+:\d+)\/#ticket=([A-Za-z0-9_-]{43})/#))
            return (String(match.1), String(match.2))
        }

        @Test("the page is served to its user, a second command gives another ticket of it, and the daemon stays")
        func server() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let (server, link) = try await Self.web(on: host)
                let (place, ticket) = try Self.parts(link)
                let status = try await host.runAsUser(
                    """
                    python3 -c 'import http.client; c = http.client.HTTPConnection("\(place)", timeout=5)
                    c.request("GET", "/"); print(c.getresponse().status)'
                    """)
                #expect(status == "200")
                let second = try await Self.run("web", "--no-open", on: host)
                let (samePlace, otherTicket) = try Self.parts(try #require(second.output.first?.text))
                #expect(samePlace == place && otherTicket != ticket && second.ending == .exited(0))
                #expect(server.output.map(\.text).contains { $0.hasSuffix("ssh -L \(place):\(place) USER@HOST") })
                let modes = try await host.run("stat -c '%a %n' \(Self.directory)/web")
                #expect(modes == "600 \(Self.directory)/web")

                try await Self.end(server)
                #expect(try await host.run("ls \(Self.directory)").contains("socket"))
                #expect(try await Self.run("status", on: host).ending == .exited(0), "the daemon stays")
                let port = place.split(separator: ":")[1]
                let (next, nextLink) = try await Self.web(["--port", String(port)], on: host)
                let (nextPlace, _) = try Self.parts(nextLink)
                #expect(nextPlace.hasSuffix(":\(port)") && nextPlace != place, "the address is another one")
                try await Self.end(next)

                try await host.run("setsid nohup python3 -m http.server \(port) >/dev/null 2>&1 &")
                let deadline = now() + 10
                while try await host.run("ss -Hltn sport = \(port)").isEmpty, now() < deadline { try await pause(0.05) }
                let refused = try await Self.run("web", "--port", String(port), on: host)
                #expect(refused.ending == .exited(1) && refused.errorText.contains("port \(port) is in use"))
                #expect(try await Self.run("stop", on: host).ending == .exited(0))
            }
        }

        @Test("in the journal there is no ticket, which a second command asks for")
        func journal() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                // The manager of services names the stream by its device and inode. `stat` has another standard output.
                let script = #"exec 3>&1; JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/3) exec "$@""#
                let server = try Self.inkling(["web", "--no-open"], on: host, through: ["sh", "-c", script, "sh"])
                let deadline = now() + 15
                while server.outputCount == 0, server.ending == nil, now() < deadline { try await pause(0.02) }
                let line = try #require(server.output.first?.text, "\(server.errorText)")
                let form = #/The page is at http:\/\/127\.[0-9.]+:\d+\. To open it: inkling web/#
                #expect(line.wholeMatch(of: form) != nil)
                let second = try await Self.run("web", "--no-open", on: host)
                #expect(try Self.parts(try #require(second.output.first?.text)).ticket.count == 43)
                try await Self.end(server)
                #expect(!server.output.contains { $0.text.contains("ticket") })
                #expect(try await Self.run("stop", on: host).ending == .exited(0))
            }
        }
    }
}

extension NetworkTests.Alone {
    @Suite("The page, while another user floods its server", .serialized) struct WebFloodTests {
        private static let seconds = 3.0

        /// Connects and closes up to 32,000 times a second, in two processes, and prints the number of connections.
        /// Faster floods fill the system's queue of connections, from which no server can help.
        private static let flood = """
            import os, socket, sys, time
            start = time.monotonic()
            end = start + \(seconds)
            output, input = os.pipe()
            for _ in range(2):
                if os.fork() == 0:
                    count = 0
                    while time.monotonic() < end and count < 100_000:
                        with socket.socket() as connection:
                            connection.setblocking(False)
                            connection.connect_ex((sys.argv[1], int(sys.argv[2])))
                        count += 1
                        if count % 100 == 0:
                            time.sleep(max(0, start + count / 16_000 - time.monotonic()))
                    os.write(input, b"%d\\n" % count)
                    os._exit(0)
            os.close(input)
            print(sum(int(line) for line in os.fdopen(output)))
            """

        /// Loads the page again and again over new connections, and prints the longest time in seconds, and the number.
        private static let visits = """
            import http.client, sys, time
            end = time.monotonic() + \(seconds - 0.5)
            times = []
            while time.monotonic() < end:
                start = time.monotonic()
                page = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=10)
                page.request("GET", "/")
                answer = page.getresponse()
                assert answer.status == 200 and answer.read()
                page.close()
                times.append(time.monotonic() - start)
                time.sleep(0.02)
            print(max(times), len(times))
            """

        @Test("the user's page comes within 0.2 s, and the log has one line a second")
        func flood() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let (server, link) = try await NetworkTests.WebCommandTests.web(on: host)
                let place = try NetworkTests.WebCommandTests.parts(link).place.split(separator: ":").map(String.init)
                let flood = try Child(
                    host.rootCommand(User.command(["python3", "-c", Self.flood] + place, id: 65_534)))
                flood.closeInput()
                try await pause(0.3)
                let visits = try Child(host.command(["python3", "-c", Self.visits] + place))
                visits.closeInput()
                #expect(try await visits.waitForEndAndOutput(within: 20) == .exited(0), "\(visits.errorText)")
                #expect(try await flood.waitForEndAndOutput(within: 20) == .exited(0), "\(flood.errorText)")
                let words = try #require(visits.output.first?.text.split(separator: " "))
                let connections = try #require(flood.output.first.flatMap { Int($0.text) })
                let (longest, count) = (try #require(Double(words[0])), try #require(Int(words[1])))
                #expect(longest <= 0.2 && count > 10, "\(words) during \(connections) connections")
                #expect(connections > 1_000)
                // The last line waits for its second.
                try await pause(1)
                kill(try #require(server.onlyChild), SIGTERM)
                server.closeInput()
                #expect(try await server.waitForEndAndOutput() == .exited(0))
                let log = server.errorText.split(separator: "\n")
                #expect((1...Int(Self.seconds) + 2).contains(log.count), "\(log.prefix(9))")
                #expect(log.allSatisfy { $0.contains("of another user was refused") }, "\(log)")
                _ = try await host.runAsUser("\(try NodeProcess.program()) stop --state-dir /run/inkling-page")
            }
        }
    }
}
