import Glibc

/// A symbolic link in the state directory to a socket elsewhere. Programs in another environment, such as that of
/// `cron` or `ssh`, find the daemon by the link. The caller holds the state directory.
package enum SocketSignpost {
    /// Makes the link, and replaces an earlier one. The link is only a convenience, so the method ignores a failure.
    ///
    /// - Parameters:
    ///   - directory: the state directory.
    ///   - path: the path of the daemon's socket; only an absolute path gets a link.
    package static func put(in directory: String, to path: String) {
        let link = link(in: directory)
        guard path.hasPrefix("/"), path != link else { return }
        remove(from: directory)
        _ = symlink(path, link)
    }

    /// Removes the link. Any other file of that name stays.
    package static func remove(from directory: String) {
        var status = stat()
        guard lstat(link(in: directory), &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        unlink(link(in: directory))
    }

    private static func link(in directory: String) -> String { directory + "/socket" }
}
