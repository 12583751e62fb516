import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("The command inkling web", .serialized, .sideBySide) struct WebCommandTests {
        private static let directory = "/run/inkling-page"

        private static func inkling(_ arguments: [String], on host: Host) throws -> Child {
            try Child(
                host.command([try NodeProcess.program()] + arguments + ["--state-dir", directory]),
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
        private static func web(_ arguments: [String] = [], on host: Host) async throws -> (Child, String) {
            let child = try inkling(["web"] + arguments, on: host)
            let deadline = now() + 15
            while child.outputCount == 0 {
                if now() > deadline || child.ending != nil { throw HarnessError("no page: \(child.errorText)") }
                try await pause(0.02)
            }
            return (child, child.output[0].text)
        }

        private static func end(_ child: Child) async throws {
            kill(try #require(child.onlyChild), SIGTERM)
            child.closeInput()
            #expect(try await child.waitForEnd() == .exited(0))
            #expect(child.errorText.isEmpty)
        }

        /// Returns the address and the ticket of a page.
        private static func parts(_ link: String) throws -> (place: String, ticket: String) {
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
                let status = try await host.run(
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

        @Test("beside a chat that uses the identity, the command says why no page opens")
        func besideChat() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let chat = try Self.inkling(
                    ["chat", "kitchen", "--json", "--no-discovery", "--name", "Alice"], on: host)
                let deadline = now() + 10
                while chat.outputCount == 0, now() < deadline { try await pause(0.02) }
                let web = try await Self.run("web", on: host)
                #expect(web.ending == .exited(1) && web.errorText.contains("uses the identity"), "\(web.errorText)")
                chat.closeInput()
                #expect(try await chat.waitForEnd() == .exited(0))
            }
        }
    }
}
