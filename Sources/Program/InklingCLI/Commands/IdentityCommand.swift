import ArgumentParser
import Glibc
import Inkling
import InklingService
import InklingText

struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Show your identity, copy it, or put a copy back.",
        discussion: """
            Your identity is a key on this machine. Others recognise you by it, whatever your name is. Import it on \
            another machine to be the same person there.

            inkling identity show
            inkling identity export alice.identity
            inkling identity import alice.identity
            """,
        subcommands: [ShowCommand.self, ExportCommand.self, ImportCommand.self])

    struct DirectoryOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Set where identity and known peers are kept (default: inkling in $XDG_STATE_HOME or ~/.local/state).",
                valueName: "dir"),
            completion: .directory)
        var stateDir: String?

        var directory: String? { stateDir ?? Configuration.defaultStateDirectory }

        /// Returns the identity. Throws if the directory keeps none.
        func identity() throws -> KeptIdentity {
            guard let identity = try KeptIdentity.read(directory: directory) else {
                let path = SafeText.line(directory ?? "")
                throw CommandFailure(
                    text: "there is no identity in \(path) yet; start a chat to make one, or import one: "
                        + "inkling identity import FILE")
            }
            return identity
        }
    }

    struct ShowCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show user ID, key and fingerprint, and where they are kept.")

        @OptionGroup var options: DirectoryOptions

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            try CommandFailure.reporting {
                let identity = try options.identity()
                let groups = identity.fingerprint.groups
                if json {
                    try Output.standard.answer(
                        json: [
                            ("user", .string(identity.user.description)), ("key", .string(identity.key.description)),
                            ("fingerprint", .string(groups.joined(separator: " "))),
                            ("directory", .string(identity.directory)),
                        ])
                    return
                }
                try Output.standard.answer(
                    """
                    user ID      \(identity.user)
                    public key   \(identity.key)
                    fingerprint  \(groups.prefix(6).joined(separator: " "))
                                 \(groups.dropFirst(6).joined(separator: " "))
                    kept in      \(SafeText.line(identity.directory))
                    """)
            }
        }
    }

    struct ExportCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write a copy of your identity, private key included, into a file.",
            discussion: """
                Anyone with this file can act as you. Keep it like a key: on a medium of your own, and nowhere else.
                """)

        @Argument(help: "The file to write; - writes to standard output.", completion: .file())
        var file: String

        @Flag(help: "Replace the file if it exists.")
        var force = false

        @OptionGroup var options: DirectoryOptions

        func run() throws {
            try CommandFailure.reporting {
                let identity = try options.identity()
                if file == "-" {
                    guard isatty(STDOUT_FILENO) == 0 else {
                        throw CommandFailure(
                            text: "a private key is not shown on a terminal; name a file, or redirect the output",
                            status: 64)
                    }
                    guard Output.standard.write(Array(identity.text.utf8)) else { throw Output.failure(errno) }
                } else {
                    try ProtectedFile.write(identity.text, to: file, replacing: force)
                }
                let place = file == "-" ? "what was written" : SafeText.line(file)
                Output.error.write(
                    line: "inkling: \(place) holds your private key: anyone with it can act as you. Keep it secret.")
            }
        }
    }

    struct ImportCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Adopt the identity from a file.")

        @Argument(
            help: "A file that \"inkling identity export\" made; - reads standard input.", completion: .file())
        var file: String

        @Flag(help: "Replace the identity that is there. Without a copy of it you can't be that person again.")
        var force = false

        @OptionGroup var options: DirectoryOptions

        func run() throws {
            try CommandFailure.reporting {
                let text = try ProtectedFile.read(file)
                let identity = try KeptIdentity.replace(in: options.directory, with: text, force: force)
                try Output.standard.answer("You are \(identity.user) now, in \(SafeText.line(identity.directory)).")
            }
        }
    }
}

/// Files that only their owner can read.
package enum ProtectedFile {
    /// Writes a file.
    ///
    /// - Parameter replacing: whether to replace a regular file of that name. Other kinds of files are never replaced.
    package static func write(_ text: String, to path: String, replacing: Bool) throws {
        let shown = SafeText.line(path)
        if let kind = SmallFile.kindUnlessRegular(path) {
            throw CommandFailure(text: "\(shown) is \(kind), not a regular file; choose another name")
        }
        // The function writes a file beside the old one first, so that a crash leaves no half key under the name.
        let new = replacing ? "\(path).new" : path
        if replacing { unlink(new) }
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            if errno == EEXIST {
                throw CommandFailure(text: "\(shown) already exists; choose another name, or replace it with --force")
            }
            throw CommandFailure(text: "can't write \(shown) (\(reason(errno))); choose another place")
        }
        let bytes = Array(text.utf8)
        var isWhole = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        var code = errno
        close(file)
        if isWhole, replacing {
            isWhole = rename(new, path) == 0
            code = errno
        }
        guard isWhole else {
            unlink(new)
            throw CommandFailure(text: "can't write \(shown) (\(reason(code))); make room, or choose another place")
        }
    }

    fileprivate static func read(_ path: String) throws -> String {
        let shown = path == "-" ? "standard input" : SafeText.line(path)
        do throws(SmallFile.Failure) {
            return try SmallFile.text(path, maximumBytes: 4_096)
        } catch {
            switch error {
            case .unreadable: throw CommandFailure(text: "can't read \(shown); check its path and permissions")
            case .tooLong, .noText: throw NodeError.identityText
            }
        }
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
