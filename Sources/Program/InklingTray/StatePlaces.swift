import CDesktop

/// The places of a daemon's state directory and socket.
struct StatePlaces {
    /// The directory that an option names; nil if none does.
    let given: String?
    /// The state directory; nil for a user without a home.
    let directory: String?

    init(given: String?) {
        self.given = given
        directory = given ?? Self.defaultDirectory
    }

    /// The sockets to try, in this order.
    var sockets: [String] {
        if let given { return [given + "/socket"] }
        var places: [String] = []
        if let folder = Self.path(in: "XDG_RUNTIME_DIR") { places.append(folder + "/inkling/socket") }
        let folder = "/run/user/\(geteuid())"
        if desktop_owns_folder(folder) != 0 {
            places.append(folder + "/inkling/socket")
        }
        if let directory { places.append(directory + "/socket") }
        return places.enumerated().filter { !places.prefix($0.offset).contains($0.element) }.map { $0.element }
    }

    /// The device and inode of the directory, in the form of a daemon's first line; nil if it is missing.
    var state: String? {
        var status = stat()
        guard let directory, stat(directory, &status) == 0 else { return nil }
        return "\(status.st_dev):\(status.st_ino)"
    }

    /// Whether a node holds the lock of the directory. A connection without a node could start a daemon that the user has
    /// ended, if a service manager listens.
    var isInUse: Bool {
        guard let directory else { return false }
        let lock = desktop_open(directory + "/lock")
        guard lock >= 0 else { return false }
        defer { close(lock) }
        return desktop_is_locked(lock) != 0
    }

    /// The directory itself, or the nearest folder above a missing one.
    var watched: String? {
        guard var place = directory else { return nil }
        while access(place, F_OK) != 0, place != "/", let slash = place.lastIndex(of: "/") {
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
        return place
    }

    private static var defaultDirectory: String? {
        if let folder = path(in: "XDG_STATE_HOME") { return folder + "/inkling" }
        let home = path(in: "HOME") ?? getpwuid(getuid())?.pointee.pw_dir.map { String(cString: $0) }
        return home.map { $0 + "/.local/state/inkling" }
    }

    private static func path(in variable: String) -> String? {
        guard let value = getenv(variable) else { return nil }
        let path = String(cString: value)
        return path.hasPrefix("/") ? path : nil
    }
}
