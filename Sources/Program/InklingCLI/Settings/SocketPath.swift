import Glibc
import Inkling

/// Where the daemon of a state directory listens, and front ends look for it.
package enum SocketPath {
    /// How many bytes of UTF-8 the path of a socket can have: `sun_path` without the NUL at its end.
    package static let maximumBytes = 107

    /// - Parameters:
    ///   - given: the state directory that an option names; nil where none does.
    ///   - fallback: the state directory where no option names one; nil for a user without a home.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`. By the convention's own rule a path that is not absolute doesn't count.
    ///   - userFolder: `/run/user/UID`, if it is the user's own.
    /// - Returns: nil if there is no place.
    package static func path(
        stateDirectory given: String?, default fallback: String?, runtimeDirectory: String?, userFolder: String?
    ) -> String? {
        if let given { return given + "/socket" }
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/") { return runtimeDirectory + "/inkling/socket" }
        if let userFolder { return userFolder + "/inkling/socket" }
        return fallback.map { $0 + "/socket" }
    }

    /// The path for this user and environment.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func path(stateDirectory given: String?) -> String? {
        path(
            stateDirectory: given, default: Configuration.defaultStateDirectory,
            runtimeDirectory: ChatSettings.environment("XDG_RUNTIME_DIR"), userFolder: userFolder)
    }

    /// Where to look for the daemon: first where it listens with this environment, then where it does with others.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func places(stateDirectory given: String?) -> [String] {
        places(stateDirectory: given, default: Configuration.defaultStateDirectory, userFolder: userFolder)
    }

    /// The same, for another user too.
    static func places(
        stateDirectory given: String?, default fallback: String?, userFolder: String?
    ) -> [String] {
        let environment = ChatSettings.environment("XDG_RUNTIME_DIR")
        let all = [(environment, userFolder), (nil, userFolder), (nil, nil)].compactMap {
            path(stateDirectory: given, default: fallback, runtimeDirectory: $0, userFolder: $1)
        }
        return all.enumerated().filter { !all.prefix($0.offset).contains($0.element) }.map(\.element)
    }

    private static var userFolder: String? {
        let path = "/run/user/\(geteuid())"
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            return nil
        }
        return path
    }
}
