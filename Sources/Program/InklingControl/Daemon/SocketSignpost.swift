import Glibc

/// A symbolic link in the state directory to a socket elsewhere: who was started in another environment, as by `cron` or
/// over `ssh`, finds the daemon by it all the same. Whoever calls it holds the state directory.
package enum SocketSignpost {
    /// Makes it, in the place of one that was there. It is a convenience, so nobody is told if that fails.
    ///
    /// - Parameters:
    ///   - directory: the state directory.
    ///   - path: where the daemon listens; absolute, or there is no link.
    package static func put(in directory: String, to path: String) {
        let link = link(in: directory)
        guard path.hasPrefix("/"), path != link else { return }
        remove(from: directory)
        _ = symlink(path, link)
    }

    /// Takes it away. Anything else of that name stays.
    package static func remove(from directory: String) {
        var status = stat()
        guard lstat(link(in: directory), &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return }
        unlink(link(in: directory))
    }

    private static func link(in directory: String) -> String { directory + "/socket" }
}
