import Foundation
import Glibc
import InklingCLI
import InklingService
import Testing

@Suite("Where the daemon's socket lies")
struct SocketPathTests {
    //
    @Test(
        "a state directory that is named has it; else the folder for running programs, else the user's, else the state's",
        arguments: [
            ("/given", "/state", "/run/xdg", "/run/user/1000", "/given/socket"),
            ("relative", "/state", "/run/xdg", nil, "relative/socket"),
            (nil, "/state", "/run/xdg", "/run/user/1000", "/run/xdg/inkling/socket"),
            (nil, "/state", "run", "/run/user/1000", "/run/user/1000/inkling/socket"),
            (nil, "/state", nil, "/run/user/1000", "/run/user/1000/inkling/socket"),
            (nil, "/state", nil, nil, "/state/socket"), (nil, nil, nil, nil, nil),
        ] as [(String?, String?, String?, String?, String?)])
    func places(_ given: String?, _ state: String?, _ runtime: String?, _ user: String?, _ expected: String?) {
        #expect(
            SocketPath.path(stateDirectory: given, default: state, runtimeDirectory: runtime, userFolder: user)
                == expected)
    }

    @Test("a link in the state directory leads to a socket elsewhere, and makes way for one that is there")
    func signpost() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("post-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["", "/state", "/run"] {
            try FileManager.default.createDirectory(
                atPath: folder + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let (state, elsewhere) = (folder + "/state", folder + "/run/inkling.socket")
        let listening = try ListeningSocket(at: elsewhere)
        SocketSignpost.put(in: state, to: elsewhere)
        SocketSignpost.put(in: state, to: elsewhere)
        close(try UnixSocket.connect(to: state + "/socket"))
        #expect(throws: ListeningSocket.Failure.inUse) { try ListeningSocket(at: state + "/socket") }
        listening.remove()
        close(listening.descriptor)
        // An earlier daemon ended without removing its socket.
        let here = try ListeningSocket(at: state + "/socket")
        SocketSignpost.remove(from: state)
        close(try UnixSocket.connect(to: state + "/socket"))
        close(here.descriptor)
    }

    @Test("who listens at a path is reached; a path that is too long, and one where nobody listens, are told apart")
    func connecting() throws {
        #expect(throws: UnixSocket.Failure.pathTooLong) {
            try UnixSocket.connect(to: "/" + String(repeating: "x", count: SocketPath.maximumBytes))
        }
        #expect(throws: UnixSocket.Failure.system(ENOENT)) {
            try UnixSocket.connect(to: "/" + String(repeating: "x", count: SocketPath.maximumBytes - 1))
        }
    }
}
