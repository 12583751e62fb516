import Glibc
import InklingText

/// Decides whether the command for messages really comes from the user. Another user who can write the settings or the
/// program could make the daemon start any program.
package enum HookTrust {
    /// Returns the reason not to start the command, with advice; nil to start the command.
    ///
    /// - Parameters:
    ///   - settings: The path of the settings file; nil if the program reads none.
    ///   - program: The first word of the command.
    ///   - searchPath: Where to look for a program without a slash, as in `$PATH`.
    package static func fault(settings: String?, program: String, searchPath: String) -> String? {
        for path in [settings, found(program, in: searchPath)].compactMap({ $0 }) {
            guard let reason = reason(path) ?? reason(folder(of: path)) else { continue }
            return "on-message is left out: \(reason). Make sure that only you can write there, and reload the daemon"
        }
        return nil
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the file that the command starts; nil if there is none.
    private static func found(_ program: String, in searchPath: String) -> String? {
        guard !program.contains("/") else { return program }
        return searchPath.split(separator: ":").lazy.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// Returns the reason why others can write a file or a folder; nil if they can't, or nothing exists there.
    private static func reason(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let shown = SafeText.line(path)
        guard [0, geteuid()].contains(status.st_uid) else { return "\(shown) belongs to another user" }
        // In a sticky folder, users can't replace each other's files.
        if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & S_ISVTX != 0 { return nil }
        if status.st_mode & S_IWOTH != 0 { return "all users of this machine can write \(shown)" }
        if status.st_mode & S_IWGRP != 0, hasOthers(status.st_gid) { return "others in its group can write \(shown)" }
        return nil
    }

    /// Whether a group has members besides the user and root.
    private static func hasOthers(_ group: gid_t) -> Bool {
        func isOther(_ user: uid_t) -> Bool { user != 0 && user != geteuid() }
        if let entry = getgrgid(group), var member = entry.pointee.gr_mem {
            // The loop reads all names first, because the next look-up may reuse their memory.
            var names: [String] = []
            while let name = member.pointee {
                names.append(String(cString: name))
                member += 1
            }
            // A name without a user counts, because an administrator may add such a user later.
            for name in names where getpwnam(name).map({ isOther($0.pointee.pw_uid) }) ?? true { return true }
        }
        setpwent()
        defer { endpwent() }
        while let entry = getpwent() {
            if entry.pointee.pw_gid == group, isOther(entry.pointee.pw_uid) { return true }
        }
        return false
    }
}
