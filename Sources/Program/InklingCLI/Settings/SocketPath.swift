import Glibc
import Inkling

/// The place where a state directory's daemon listens, and front ends connect.
package enum SocketPath {
    /// The longest path of a socket, in bytes of UTF-8: `sun_path` without the NUL at its end.
    package static let maximumBytes = 107

    /// - Parameters:
    ///   - given: the state directory that an option names; nil where none does.
    ///   - fallback: the state directory where no option names one; nil for a user without a home.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`. The convention ignores a path that is not absolute.
    ///   - userFolder: `/run/user/UID`; nil if the folder belongs to another user.
    /// - Returns: nil if there is no place.
    package static func path(
        stateDirectory given: String?, default fallback: String?, runtimeDirectory: String?, userFolder: String?
    ) -> String? {
        if let given { return given + "/socket" }
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/") { return runtimeDirectory + "/inkling/socket" }
        if let userFolder { return userFolder + "/inkling/socket" }
        return fallback.map { $0 + "/socket" }
    }

    /// Returns the path for this user and environment.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func path(stateDirectory given: String?) -> String? {
        path(
            stateDirectory: given, default: Configuration.defaultStateDirectory,
            runtimeDirectory: ChatSettings.environment("XDG_RUNTIME_DIR"), userFolder: userFolder)
    }

    /// Returns the places to look for the daemon: first the place for this environment, then those for other
    /// environments.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func places(stateDirectory given: String?) -> [String] {
        places(stateDirectory: given, default: Configuration.defaultStateDirectory, userFolder: userFolder)
    }

    /// Returns the places for a user, who may be another one.
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
