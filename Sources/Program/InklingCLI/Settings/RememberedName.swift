import Glibc
import Inkling
import InklingModel
import NIOCore
import NIOPosix

/// The user's name in the last chat, kept beside the identity. Other commands use it, so that people in the chat
/// recognise the same person.
package enum RememberedName {
    private static let maximumBytes = 64

    /// Returns the kept name; nil without one that a node can have.
    package static func read(in directory: String?) -> String? {
        guard let directory else { return nil }
        // O_NONBLOCK: a pipe in the file's place must not block the program.
        let file = open("\(directory)/name", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 2)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self), text.hasSuffix("\n") else {
            return nil
        }
        let name = String(text.dropLast())
        let isPossible =
            name.utf8.count <= maximumBytes && !name.allSatisfy(\.isWhitespace)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return isPossible ? name : nil
    }

    /// Keeps the name.
    ///
    /// - Returns: The reason for a failure.
    @discardableResult
    package static func keep(_ name: String, in directory: String?) -> String? {
        guard let directory, name != read(in: directory) else { return nil }
        return StateFile(directory: directory, name: "name", newName: "name.new").write(Array("\(name)\n".utf8))
    }

    /// Returns a function that keeps names without blocking the event loop, and then calls back there. The notice reports
    /// a failure.
    static func keeper(
        in directory: String?, on loop: any EventLoop
    ) -> (String, _ completion: @escaping (Notice?) -> Void) -> Void {
        // One thread keeps the names in order.
        var threads: NIOThreadPool?
        return { name, completion in
            let pool = threads ?? .alone()
            threads = pool
            pool.runIfActive(eventLoop: loop) { keep(name, in: directory) }.assumeIsolated().whenComplete { result in
                let reason =
                    switch result {
                    case .success(let reason): reason
                    case .failure(let error): "\(error)"
                    }
                completion(
                    reason.map { reason in
                        .other(
                            code: "nick-not-kept",
                            text: "Your new name holds until Inkling ends: \(directory ?? "")/name can't be written "
                                + "(\(reason)).")
                    })
            }
        }
    }
}
