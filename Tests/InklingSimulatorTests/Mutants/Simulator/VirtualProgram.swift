import InklingConformance
import InklingModel
import InklingWire

/// A driven node in virtual time: the core with the JSON lines around it that the cases need.
final class VirtualProgram {
    let id: ProgramID
    let port: Int
    private let arguments: ProgramArguments
    private unowned let stage: VirtualStage
    private var endpoint: Endpoint
    private var names: [ChatTag: String] = [:]
    private var openChat: String?
    private var messageNumber: [UInt64: String] = [:]
    private var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    private var socket: [(bytes: [UInt8], source: UDPAddress, host: String)] = []
    /// The own host that the datagram was sent to which is being taken.
    private var answersFrom: String?
    private var input: [JSONValue?] = []
    private var lineNumber = 0
    private(set) var isRunning = false
    private var isStopped = false
    private var isQuitting = false

    init(
        id: ProgramID, port: Int, identity: KeyPair, arguments: ProgramArguments, stage: VirtualStage,
        random: SeededGenerator
    ) {
        self.id = id
        self.port = port
        self.arguments = arguments
        self.stage = stage
        var random = random
        endpoint = Endpoint(
            // The suite runs as the user of the program.
            configuration: .init(
                identity: identity, run: random.next(), name: arguments.name, isOwnUsers: { _ in true }),
            now: stage.clock, random: VirtualGenerator(base: random))
    }

    var isAwake: Bool { isRunning && !isStopped }
    var nextDeadline: Instant? { endpoint.nextDeadline }

    func begin() {
        guard (try? VirtualProgram.chat(arguments.chat, secret: arguments.secret)) != nil else {
            return stage.exit(.exited(64), of: id)
        }
        isRunning = true
        let networks = [
            LocalNetwork(address: Address(ipv4: 0x7F00_0001, port: 0), prefixLength: 104),
            LocalNetwork(address: Address(high: 0, low: 1, port: 0), prefixLength: 128),
        ]
        endpoint.setNetworks(networks, port: UInt16(port), now: stage.clock)
        endpoint.keepsWills(now: stage.clock)
        say(
            "ready",
            [
                "user": .string(endpoint.publicKey.userID.description), "name": .string(arguments.name),
                "port": .number(Double(port)), "chat": .string(arguments.chat), "version": "0",
                "key": .string(endpoint.publicKey.base64url), "unsupported": ["discovery", "suspend"],
            ])
        join(arguments.chat, secret: arguments.secret)
        for peer in arguments.peers {
            guard let address = Address(peer) else { continue }
            endpoint.addPeer(address, now: stage.clock)
        }
        drain()
    }

    // MARK: Time, datagrams, signals

    func runDeadlines() {
        guard let deadline = endpoint.nextDeadline, deadline <= stage.clock else { return }
        endpoint.advance(to: stage.clock)
        drain()
        confirmDrained()
    }

    func receive(_ bytes: [UInt8], from source: UDPAddress, at host: String) {
        guard !isStopped else {
            socket.append((bytes, source, host))
            return
        }
        read(bytes, from: source, at: host)
        confirmDrained()
    }

    private func read(_ bytes: [UInt8], from source: UDPAddress, at host: String) {
        guard let address = Address(source) else { return }
        endpoint.receive(bytes, from: address, now: stage.clock)
        answersFrom = host
        drain()
        answersFrom = nil
    }

    func take(_ signal: ProgramSignal) {
        guard isRunning else { return }
        switch signal {
        case .kill: die()
        case .terminate, .interrupt: quit()
        case .stop: isStopped = true
        case .resume: resume()
        case .terminalStop: break
        }
    }

    private func resume() {
        guard isStopped else { return }
        isStopped = false
        endpoint.advance(to: stage.clock)
        drain()
        let waiting = socket
        socket = []
        for (bytes, source, host) in waiting { read(bytes, from: source, at: host) }
        confirmDrained()
        let lines = input
        input = []
        for line in lines { take(line) }
    }

    private func die() {
        isRunning = false
        stage.exit(.signalled(9), of: id)
        for will in wills.sorted(by: { $0.key < $1.key }).map(\.value) {
            for delay in [Duration.zero] + Limits.edgeCopies {
                stage.schedule(after: .milliseconds(1) + delay) { [unowned stage, port] in
                    stage.carry(will.bytes, fromPort: port + 1, to: will.address.udp)
                }
            }
        }
    }

    func quit() {
        guard isRunning, !isQuitting else { return }
        isQuitting = true
        endpoint.quit(now: stage.clock)
        drain()
        stage.schedule(after: .milliseconds(200)) { [unowned self] in
            isRunning = false
            stage.exit(.exited(0), of: id)
        }
    }

    private func confirmDrained() {
        guard endpoint.wantsSocketDrained else { return }
        endpoint.socketDrained(now: stage.clock)
        drain()
    }

    // MARK: Commands

    func take(_ command: JSONValue?) {
        guard isRunning else { return }
        guard !isStopped else {
            input.append(command)
            return
        }
        lineNumber += 1
        guard let word = command?["do"]?.string, let command else { return fail("bad-command", nil) }
        do {
            try perform(word, command)
        } catch {
            fail(error.code, command["tag"])
        }
        drain()
    }

    private func perform(_ word: String, _ command: JSONValue) throws(CommandError) {
        switch word {
        case "compose": try endpoint.compose(command["text"]?.string ?? "", in: try chat(command), now: stage.clock)
        case "send":
            let tag = try chat(command)
            let sent = try endpoint.send(command["text"]?.string ?? "", to: tag, now: stage.clock)
            var members: [String: JSONValue] = [
                "chat": .string(names[tag] ?? ""), "message": .number(Double(sent.message)),
                "to": .number(Double(sent.recipients)),
            ]
            if let mark = command["tag"] { members["tag"] = mark }
            say("sent", members)
        case "join": join(command["chat"]?.string ?? "", secret: command["secret"]?.string)
        case "leave":
            let tag = try chat(command)
            let people = endpoint.present(in: tag)
            let isTyping = !endpoint.typing(in: tag).isEmpty
            try endpoint.leave(tag, now: stage.clock)
            if isTyping { say("typing", ["chat": .string(names[tag] ?? ""), "users": [], "text": ""]) }
            for person in people { tell(tag, person.person, "offline", "bye") }
            if openChat == names[tag] { openChat = nil }
            names[tag] = nil
        case "open":
            let tag = try chat(command)
            if let old = names.first(where: { $0.value == openChat })?.key, old != tag {
                try endpoint.stopTyping(in: old, now: stage.clock)
            }
            openChat = names[tag]
        case "away", "back": endpoint.setAway(word == "away", now: stage.clock)
        case "block", "unblock":
            guard let user = command["user"]?.string.flatMap(UserID.init) else { return fail("bad-command", nil) }
            if word == "block" {
                endpoint.block(user, now: stage.clock)
            } else {
                endpoint.unblock(user, now: stage.clock)
            }
        case "who":
            let tag = try chat(command)
            let people = endpoint.present(in: tag).map { state -> JSONValue in
                [
                    "user": .string(state.person.key.userID.description), "name": .string(state.person.name),
                    "presence": .string(state.presence.rawValue),
                ]
            }
            say("who", ["chat": .string(names[tag] ?? ""), "peers": .array(people)])
        case "stats": say("stats", [:])
        case "quit": quit()
        default: fail("bad-command", nil)
        }
    }

    private func chat(_ command: JSONValue) throws(CommandError) -> ChatTag {
        guard
            let name = command["chat"]?.string ?? openChat, let tag = names.first(where: { $0.value == name })?.key
        else { throw .unknownChat }
        return tag
    }

    private func join(_ name: String, secret: String?) {
        let chat: InklingModel.Chat
        do {
            chat = try VirtualProgram.chat(name, secret: secret)
        } catch {
            return fail("bad-chat", nil)
        }
        do {
            try endpoint.join(chat.keys, now: stage.clock)
        } catch {
            return fail(error.code, nil)
        }
        names[chat.keys.tag] = chat.name
        if openChat == nil { openChat = chat.name }
        if chat.isOpen { say("notice", ["code": "open-chat", "text": "open", "chat": .string(chat.name)]) }
    }

    private static func chat(_ name: String, secret: String?) throws(NodeError) -> InklingModel.Chat {
        guard let secret else { return try InklingModel.Chat(name) }
        return try InklingModel.Chat(name, secret: Secret(secret))
    }

    // MARK: What the core wants

    private func drain() {
        while let output = endpoint.nextOutput() { perform(output) }
    }

    private func perform(_ output: Output) {
        switch output {
        case .send(let bytes, let destination, let kind):
            let answers: Set<DatagramKind> = [.response, .retry, .tell, .pong]
            let host = answers.contains(kind) ? answersFrom : nil
            stage.carry(bytes, fromPort: port, host: host ?? "127.0.0.1", to: destination.udp)
        case .typing(let tag, let people):
            say(
                "typing",
                [
                    "chat": .string(names[tag] ?? ""), "users": .array(people.map(VirtualProgram.json)),
                    "text": .string(people.isEmpty ? "" : "\(people.count) typing"),
                ])
        case .presence(let tag, let person, let presence, let why): tell(tag, person, presence.rawValue, why.rawValue)
        case .message(let tag, let person, let number, let text):
            endpoint.messageTaken(number)
            var members: [String: JSONValue] = [
                "chat": .string(names[tag] ?? ""), "from": VirtualProgram.json(person),
                "message": .number(Double(number)), "text": .string(text),
            ]
            if endpoint.wantsSocketDrained { members["delayed"] = .boolean(true) }
            say("message", members)
        case .delivered(let message, let tag, let key):
            say(
                "delivered",
                [
                    "chat": .string(names[tag] ?? ""), "message": .number(Double(message)),
                    "user": .string(key.userID.description),
                ])
        case .failed(let message, let tag, let key, let why):
            say(
                "failed",
                [
                    "chat": .string(names[tag] ?? ""), "message": .number(Double(message)),
                    "user": .string(key.userID.description), "why": .string(why.rawValue),
                ])
        case .keepWill(let session, let bytes, let address): wills[session] = (bytes, address)
        case .dropWill(let session): wills[session] = nil
        case .peerIsOneself: say("notice", ["code": "peer-is-oneself", "text": "yourself"])
        }
    }

    private func tell(_ tag: ChatTag, _ person: Person, _ presence: String, _ why: String) {
        say(
            "peer",
            [
                "chat": .string(names[tag] ?? ""), "user": .string(person.key.userID.description),
                "name": .string(person.name), "presence": .string(presence), "why": .string(why),
            ])
    }

    private static func json(_ person: Person) -> JSONValue {
        ["user": .string(person.key.userID.description), "name": .string(person.name)]
    }

    private func fail(_ code: String, _ tag: JSONValue?) {
        var members: [String: JSONValue] = [
            "code": .string(code), "text": .string(code), "line": .number(Double(lineNumber)),
        ]
        if let tag { members["tag"] = tag }
        say("error", members)
    }

    private func say(_ kind: String, _ members: [String: JSONValue]) {
        var members = members
        members["on"] = .string(kind)
        members["at"] = .number(1_800_000_000 + stage.now.seconds)
        stage.say(.object(members), by: id)
    }
}

/// The suite's generator as the core takes it.
private struct VirtualGenerator: RandomNumberGenerator, Sendable {
    var base: SeededGenerator

    mutating func next() -> UInt64 { base.next() }
}

extension CommandError {
    fileprivate var code: String {
        switch self {
        case .unknownChat: "unknown-chat"
        case .chatExists: "chat-exists"
        case .tooManyChats: "too-many-chats"
        case .messageEmpty: "message-empty"
        case .messageTooLong: "message-too-long"
        case .queueFull: "queue-full"
        }
    }
}

extension Address {
    /// The addresses of loopback that cases use.
    fileprivate init?(_ address: UDPAddress) {
        if address.host == "::1" {
            self.init(high: 0, low: 1, port: UInt16(address.port))
            return
        }
        let bytes = address.host.split(separator: ".").compactMap { UInt32($0) }
        guard bytes.count == 4 else { return nil }
        self.init(ipv4: bytes.reduce(0) { $0 << 8 | $1 }, port: UInt16(address.port))
    }

    fileprivate var udp: UDPAddress {
        guard let ipv4 else { return UDPAddress(host: "::1", port: Int(port)) }
        let bytes = [24, 16, 8, 0].map { String(ipv4 >> UInt32($0) & 0xFF) }
        return UDPAddress(host: bytes.joined(separator: "."), port: Int(port))
    }
}
