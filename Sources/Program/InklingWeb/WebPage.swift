import InklingService
import NIOCore

/// An open page: one front end of the daemon, whose lines pass through unchanged.
final class WebPage: DaemonLinkOwner {
    private let connection: WebConnection
    private let server: WebServer
    private var access: DaemonAccess { server.access }
    private let drafts: PageDrafts
    private var link: DaemonLink?
    /// The obstacle that the page knows of; nil while a daemon is there.
    private var told: DaemonObstacle?
    /// The lines that the page wrote before the link knew whether a daemon is there. The page reads no more meanwhile.
    private var early: [[UInt8]] = []

    init(_ connection: WebConnection, _ server: WebServer, _ drafts: PageDrafts, on eventLoop: any EventLoop) {
        self.connection = connection
        self.server = server
        self.drafts = drafts
        let memory = server.memory
        let members =
            [("lobby", memory.lobby), ("proposal", memory.proposal), ("shown", memory.shown)]
            .compactMap { name, text in text.map { (name, JSONValue.string($0)) } } + icon + drafts.members
        if !members.isEmpty {
            connection.write(line: Self.line([("on", .string("inkling-web")), ("state", .string("open"))] + members))
            connection.flush()
        }
        let link = DaemonLink(server.access, server.limits, on: eventLoop, owner: self)
        self.link = link
        link.connect()
    }

    func close() {
        link?.close()
        link = nil
    }

    /// Whether the page may write more.
    var wantsInput: Bool { link.map { $0.isWritable || told != nil } ?? false }

    /// Follows the writability of the page's connection.
    func follow(isWritable: Bool) { link?.takesLines = isWritable }

    // MARK: From the page

    func receive(_ line: [UInt8]) {
        guard let link else { return }
        let relayed = RelayedLine(line)
        switch relayed?.word {
        case "stop": return refuse(relayed, "inkling-web-refused", "A page can't end the daemon.")
        case "inkling-web-start": return start(relayed)
        case "inkling-web-keep": return keep(line)
        case "inkling-web-shown": return server.remember(shown: Self.text("chat", line))
        case "inkling-web-named": return server.rememberName()
        case "inkling-web-examine": return examine(line)
        case "inkling-web-icon": return setIcon(Self.text("icon", line))
        default: break
        }
        if link.isReady {
            link.write(line)
        } else if told != nil {
            refuse(relayed, "inkling-web-lost", "Inkling is not running.")
        } else {
            early.append(line)
        }
    }

    private func start(_ relayed: RelayedLine?) {
        guard told != nil, let obstacle = access.start() else { return }
        refuse(relayed, "inkling-web-lost", obstacle.text)
    }

    private func keep(_ line: [UInt8]) {
        guard let members = try? JSONMembers(line), let chat = members.text("chat"), let text = members.text("text"),
            let kind = members.text("kind").flatMap({ PageDrafts.Kind(rawValue: $0) })
        else { return }
        drafts.set(kind, text, in: chat)
    }

    private static func text(_ member: StaticString, _ line: [UInt8]) -> String? {
        (try? JSONMembers(line))?.text(member)
    }

    /// The member that says whether the desktop's icon starts at login.
    private var icon: [(String, JSONValue)] { server.host.icon().map { [("icon", .boolean($0))] } ?? [] }

    private func setIcon(_ choice: String?) {
        guard let choice else { return }
        let fault = server.host.setIcon(choice == "on").map { [("text", JSONValue.string($0))] } ?? []
        connection.write(
            line: Self.line([("on", .string("inkling-web")), ("state", .string("icon"))] + icon + fault))
        connection.flush()
    }

    /// Finds out why a chat has no people.
    private func examine(_ line: [UInt8]) {
        guard let chat = Self.text("chat", line) else { return }
        server.examine(chat) { [weak self] found in
            guard let self, link != nil else { return }
            connection.write(
                line: Self.line([
                    ("on", .string("inkling-web")), ("state", .string("examined")), ("name", .string(chat)),
                    ("found", found.map { .string($0) }),
                ]))
            connection.flush()
        }
    }

    private func refuse(_ relayed: RelayedLine?, _ code: String, _ text: String) {
        connection.write(
            line: Self.line([
                ("on", .string("error")), ("code", .string(code)), ("text", .string(text)), ("id", relayed?.id?.value),
            ]))
        connection.flush()
    }

    /// Tells the page that a ticket was used a second time.
    func reportReuse() {
        connection.write(line: Self.line([("on", .string("inkling-web")), ("state", .string("reused"))]))
        connection.flush()
    }

    private static func line(_ members: [(String, JSONValue?)]) -> [UInt8] {
        Array(JSONValue.object(members.compactMap { name, value in value.map { (name, $0) } }).text.utf8)
    }

    // MARK: From the daemon

    func daemonReady(_ line: [UInt8]) {
        if told != nil {
            connection.write(line: Self.line([("on", .string("inkling-web")), ("state", .string("back"))]))
        }
        told = nil
        connection.write(line: line)
        connection.flush()
        passEarlyLines()
    }

    func daemonLine(_ line: [UInt8]) {
        connection.write(line: line)
        if RelayedLine.isTooSlow(line) { connection.close(.tooSlow, "the daemon cut the page off") }
    }

    func daemonReadCompleted() { connection.flush() }

    func daemonLost(_ obstacle: DaemonObstacle) {
        // A daemon ends the connection of a front end that does not read, perhaps without a line.
        guard told != nil || connection.isWritable else {
            return connection.close(.tooSlow, "the page read too slowly until the daemon ended the connection")
        }
        guard told != obstacle else { return }
        told = obstacle
        connection.write(
            line: Self.line([
                ("on", .string("inkling-web")), ("state", .string("lost")), ("text", .string(obstacle.text)),
                ("starts", .boolean(obstacle.starts)),
            ]))
        connection.flush()
        passEarlyLines()
    }

    func daemonWritabilityChanged() { connection.read() }

    private func passEarlyLines() {
        let lines = early
        early = []
        for line in lines { receive(line) }
        connection.read()
    }
}
