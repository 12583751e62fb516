import Glibc
import Inkling
import InklingModel
import InklingText

/// The user who runs the doctor, and the user whose chats on this machine it checks.
struct DoctorUser {
    /// The user for whom root runs the doctor: the owner of the state directory, or the caller of `sudo`.
    struct Other {
        let name: String
        let user: uid_t
        let directory: String
    }

    /// The login name.
    let name: String
    let isRoot: Bool
    /// The state directory that the doctor checks.
    let directory: String?
    let other: Other?
    /// Whether the state directory belongs to the other user.
    let isOthersDirectory: Bool

    /// Determines the users.
    ///
    /// - Parameter stateDirectory: the state directory of the configuration.
    init(stateDirectory directory: String?) {
        name = Self.name(of: geteuid())
        isRoot = geteuid() == 0
        self.directory = directory
        isOthersDirectory = KeyStore.isAnothers(directory)
        guard isRoot, let directory else {
            other = nil
            return
        }
        if isOthersDirectory {
            other = Self.owner(of: directory).map { Other(name: Self.name(of: $0), user: $0, directory: directory) }
        } else if let user = ChatSettings.environment("SUDO_UID").flatMap({ uid_t($0) }), user != 0,
            let entry = getpwuid(user), let home = entry.pointee.pw_dir
        {
            other = Other(
                name: Self.name(of: user), user: user, directory: String(cString: home) + "/.local/state/inkling")
        } else {
            other = nil
        }
    }

    /// The identities of this user's chats on this machine, with their owners. Only root has several.
    var identities: [UserID: String] {
        var identities: [UserID: String] = [:]
        if let other, let identity = KeptIdentity.user(in: other.directory) { identities[identity] = other.name }
        if !isOthersDirectory, let directory, let identity = KeptIdentity.user(in: directory) {
            identities[identity] = name
        }
        return identities
    }

    /// The other user's node. A daemon counts only if the other user or root listens at its socket. A stranger's
    /// program does not.
    var othersNode: OthersNode? {
        guard let other else { return nil }
        guard KeyStore.isInUse(directory: other.directory) else { return OthersNode.none }
        let places = SocketPath.places(
            stateDirectory: nil, default: other.directory, userFolder: "/run/user/\(other.user)")
        return places.contains { UnixSocket.isAnswered(at: $0, by: [other.user, 0]) } ? .daemon : .chat
    }

    private static func name(of user: uid_t) -> String {
        guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return "the user with ID \(user)" }
        return SafeText.line(String(cString: name))
    }

    /// Returns the owner of a path. If root owns it, returns the owner of the first folder above that is not root's,
    /// else of the home folder.
    private static func owner(of path: String) -> uid_t? {
        var place = path[...]
        var places: [String] = []
        while !place.isEmpty {
            places.append(String(place))
            place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
        }
        places += [ChatSettings.environment("HOME")].compactMap { $0 }
        for place in places {
            var status = stat()
            if stat(place, &status) == 0, status.st_uid != 0 { return status.st_uid }
        }
        return nil
    }
}

/// The node of a user whose node the doctor can't use.
package enum OthersNode: Sendable {
    case none
    /// A node that is not a daemon.
    case chat
    case daemon
}

/// The name of the doctor's own node. The node has another key than the user, so people should not take it for the
/// user.
package enum DoctorName {
    /// The number of possible numbers in a name.
    package static let numbers = 100_000
    private static let maximumHostSize = 40

    /// Returns a name.
    ///
    /// - Parameters:
    ///   - host: the name of this machine.
    ///   - number: a new number for each run. Otherwise the same name would return with another key, and look like an
    ///     impostor.
    package static func text(host: String, number: Int) -> String {
        let name = "doctor \(number % numbers)"
        let first = host.prefix { $0 != "." }
        let safe = first.unicodeScalars.filter {
            $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_".unicodeScalars.contains($0))
        }
        guard !safe.isEmpty else { return name }
        let whole = name + " on " + String(String.UnicodeScalarView(safe.prefix(maximumHostSize)))
        return NameFault(ofOwnName: whole) == nil ? whole : name
    }

    static func random() -> String {
        let host = (try? SmallFile.text("/proc/sys/kernel/hostname", maximumBytes: 256).trimmed) ?? ""
        return text(host: host, number: Int.random(in: 0..<numbers))
    }
}
