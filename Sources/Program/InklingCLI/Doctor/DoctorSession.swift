import Glibc
import Inkling
import InklingModel
import InklingText
import NIOCore
import NIOPosix

/// Looks for people in a chat, and for announcements in this chat and others, for ``duration``.
final class DoctorSession: CommandSession {
    /// The length of the search, in milliseconds.
    private static let duration: Int64 = 4_000
    /// The time from the beginning to the measurement of round trips, in milliseconds.
    private static let measuring: Int64 = 3_000

    let host: SessionHost
    private let looksElsewhere: Bool
    private let began: Int64
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private var phase = Phase.looking
    private var joinID: RequestID?
    private var knownID: RequestID?
    /// The announced nodes of all chats; nil during the search.
    private var announced: [String: String?]?
    private var people: [Peer]?
    private var known: [KnownPeer]?
    private var sightings: (own: String?, found: [Sighting])?
    private(set) var result: Result<Sights, NodeError>?

    /// The results of the search.
    struct Sights {
        /// The identity of the node.
        var identity: NodeIdentity
        /// The people in the chat or met there before, by name.
        var people: [Peer]
        /// The people met in any chat.
        var known: [KnownPeer]
        /// The nodes announced in the chat.
        var sightings: [Sighting]
        /// The number of nodes on other machines announced in other chats.
        var elsewhere: Int
    }

    private enum Phase {
        case looking
        /// The session waits for the round trips.
        case measuring
        /// The session waits for answers to its questions.
        case asking
        case over
    }

    /// Makes a session.
    ///
    /// - Parameter looksElsewhere: whether the session can look for announcements.
    init(_ host: SessionHost, looksElsewhere: Bool) {
        self.host = host
        self.looksElsewhere = looksElsewhere
        began = host.now.steady
    }

    private var chat: String { host.settings.chat.name }

    /// Does nothing, because the doctor prints findings instead of notices.
    func report(notice: String) {}

    func begin() {
        if !host.isAttached { host.node?.ask(.setAway(true)) }
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    // MARK: Results

    func receive(_ output: ServiceOutput) {
        switch output {
        case .answer(.failed(let error), to: joinID): finish(.failure(error))
        case .answer(.joined, _): lookElsewhere()
        case .answer(.peers(let peers), _): people = peers
        case .answer(.knownPeers(let peers), _): known = peers
        case .answer(.failed, to: knownID): known = []
        case .answer(.sightings(let own, let found), _):
            sightings = (own, found)
            conclude()
        case .event, .unread, .own, .user, .answer, .ended: break
        }
    }

    private func lookElsewhere() {
        guard looksElsewhere else {
            announced = [:]
            return
        }
        thread.start()
        // The search blocks, and must not stop the loop.
        thread.runIfActive(eventLoop: host.loop) { DiscoveryProbe.instances(within: .milliseconds(Self.duration)) }
            .assumeIsolated().whenComplete { [self] result in
                thread.shutdownGracefully { _ in }
                announced = (try? result.get()) ?? [:]
                conclude()
            }
    }

    private func conclude() {
        guard case .asking = phase, let people, let known, let sightings, let announced, let node = host.node else {
            return
        }
        let inChat = Set(sightings.found.map(\.instance) + [sightings.own].compactMap { $0 })
        // Other chats of this machine do not count.
        let here = sightings.own.flatMap { announced[$0] ?? nil }
        let elsewhere = announced.filter { !inChat.contains($0.key) && (here == nil || $0.value != here) }
        finish(
            .success(
                Sights(
                    identity: node.identity, people: people, known: known, sightings: sightings.found,
                    elsewhere: elsewhere.count)))
    }

    // MARK: Time

    var nextTick: Int64? {
        switch phase {
        case .looking: began + Self.measuring
        case .measuring: began + Self.duration
        case .asking, .over: nil
        }
    }

    func tick() {
        guard let time = nextTick, time <= host.now.steady else { return }
        switch phase {
        case .looking:
            phase = .measuring
            host.node?.ask(.measureRoundTrips(chat: chat))
        case .measuring:
            phase = .asking
            host.node?.ask(.peers(chat: chat))
            knownID = host.node?.nextRequestID
            host.node?.ask(.knownPeers())
            host.node?.ask(.sightings(chat: chat))
        case .asking, .over: break
        }
    }

    // MARK: End

    private func finish(_ result: Result<Sights, NodeError>) {
        phase = .over
        self.result = result
        host.finish(status: 0)
    }

    func abandon() { phase = .over }
}

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

/// The people seen in a chat, without the user's own nodes.
package struct SeenInChat {
    /// The people in the chat, by name.
    package let present: [Peer]
    /// The announced nodes that do not answer.
    package let silent: [Sighting]
    /// The number of nodes on other machines announced in other chats.
    package let elsewhere: Int
    /// The identities of the user that have another node in the chat.
    package let ownNodes: Set<UserID>
    private let blocked: [UserID]
    private let here: Set<UserID>
    private var labels: Labels
    private let named: Set<UserID>

    /// - Parameters:
    ///   - people: the people in the chat or met there before.
    ///   - known: the people met in any chat.
    ///   - sightings: the nodes announced in the chat.
    ///   - elsewhere: the number of nodes on other machines announced in other chats.
    ///   - own: the identities of the user on this machine.
    ///   - ownName: the user's name.
    ///   - ownAddresses: the addresses of this machine, without ports.
    package init(
        people: [Peer], known: [KnownPeer], sightings: [Sighting], elsewhere: Int, own: Set<UserID>, ownName: String,
        ownAddresses: Set<String>
    ) {
        let others = people.filter { !own.contains($0.user) }
        let sighted = sightings.filter { !$0.isOneself && !own.contains($0.user) }
        let blocked = Set(known.filter(\.isBlocked).map(\.user) + others.filter(\.isBlocked).map(\.user))
        present = others.filter { $0.presence != .offline }
        silent = sighted.filter { !$0.isLinked && !blocked.contains($0.user) }
        self.blocked = sighted.map(\.user).filter { blocked.contains($0) }
        self.elsewhere = elsewhere
        ownNodes = Set(
            people.filter { own.contains($0.user) && $0.presence != .offline }.map(\.user)
                + sightings.filter { $0.isOneself || own.contains($0.user) }.map(\.user))
        here = Set(sighted.filter { $0.addresses.contains { ownAddresses.contains(Self.host($0)) } }.map(\.user))
        labels = Labels(ownName: ownName, others)
        var named = Set(others.map(\.user))
        for peer in known where !named.contains(peer.user) && sighted.contains(where: { $0.user == peer.user }) {
            guard let name = peer.names.first else { continue }
            named.insert(peer.user)
            labels.update(
                Labels.Person(
                    user: peer.user.description, name: name, acquaintance: .known, isVerified: peer.isVerified))
        }
        self.named = named
    }

    init(_ sights: DoctorSession.Sights, own: Set<UserID>, ownName: String) {
        self.init(
            people: sights.people, known: sights.known, sightings: sights.sightings, elsewhere: sights.elsewhere,
            own: own,
            ownName: ownName,
            ownAddresses: Set(Interfaces.all().flatMap { $0.networks.map { Self.host($0.address.peerText) } }))
    }

    /// The people present on other machines. They prove that the network works.
    package var elsewhereOnNetwork: [Peer] { present.filter { !here.contains($0.user) } }

    /// The doctor's findings about the people present, and about blocked ones.
    package var answering: [Finding] {
        present.map { peer in
            let time = peer.roundTrip.map { ", round trip \($0.millisecondText)" } ?? ""
            return .ok(
                "peers", "\(label(of: peer.user)) answers\(here.contains(peer.user) ? " on this machine" : "")\(time)")
        }
            + blocked.map { .note("peers", "\(label(of: $0)) is announced, and you have blocked them") }
    }

    /// Returns the label of a person, or the user ID if the name is unknown.
    package func label(of user: UserID) -> String {
        named.contains(user) ? labels.label(of: user.description).marked : "somebody you have not met (\(user))"
    }

    /// Returns an address without its port, and without the interface of a link-local address.
    private static func host(_ address: String) -> String {
        String(
            address[..<(address.lastIndex(of: ":") ?? address.endIndex)].filter { !"[]".contains($0) }.prefix {
                $0 != "%"
            })
    }
}
