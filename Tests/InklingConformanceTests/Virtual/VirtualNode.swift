import InklingConformance
import InklingCore
import InklingWire
import SeededRandom

/// A driven node in virtual time: the core, with the requests and events around it that the cases need.
final class VirtualNode {
    /// The contents of a state directory.
    final class State {
        let identity: KeyPair
        /// The chats that the node departed from, the oldest first.
        var departures: [(chat: Chat, successor: Successor, chosen: Set<PublicKey>)] = []
        /// The chats to which others have moved.
        var successors: [ChatID: Chat] = [:]
        /// The keys that each chat refuses.
        var refused: [ChatID: [PublicKey]] = [:]

        init(identity: KeyPair) { self.identity = identity }
    }

    struct Chat {
        let name: String
        let keys: ChatKeys
        var secret: ChatSecret?
        var owner: PublicKey?
        var partner: PublicKey?
        var id: ChatID { keys.id }
    }

    /// The code of an `error` that answers a request, with further members.
    struct Refusal: Error {
        let code: String
        var members: [String: JSONValue] = [:]

        static let badCommand = Refusal(code: "bad-command")
    }

    private enum Activity { case starting, running, quitting, suspending, stopped, ended }

    let id: ProgramID
    let port: Int
    let state: State
    /// The time of the next timer; nil while the node is stopped.
    private(set) var deadline: Instant?
    var endpoint: Endpoint
    var random: SeededGenerator
    /// The chats in the order of joining, without departed ones.
    var chats: [Chat] = []
    /// The chats of all invitations by number.
    var invitations: [Int: Chat] = [:]
    private unowned let stage: VirtualStage
    private let arguments: ProgramArguments
    private var activity = Activity.starting
    private var currentChat: String?
    private var standings: [PublicKey: Standing] = [:]
    private var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    /// The datagrams and lines that arrived while the node was stopped.
    private var socket: [(bytes: [UInt8], source: UDPAddress, host: String, hopLimit: Int?)] = []
    private var input: [JSONValue?] = []
    private var lineNumber = 0
    /// The own host to which the current datagram was sent.
    private var arrivalHost: String?

    init(id: ProgramID, port: Int, state: State, arguments: ProgramArguments, stage: VirtualStage, seed: UInt64) {
        (self.id, self.port, self.state, self.arguments, self.stage) = (id, port, state, arguments, stage)
        random = SeededGenerator(seed: seed)
        endpoint = Endpoint(
            // The suite runs as the user of the program.
            configuration: .init(identity: state.identity, name: arguments.name, isOwnUsers: { _ in true }),
            now: stage.clock, random: SeededGenerator(seed: ~seed))
    }

    var isRunning: Bool { activity != .starting && activity != .ended }
    var now: Instant { stage.clock }
    var key: PublicKey { endpoint.publicKey }

    // MARK: Start and end

    func begin() {
        guard let first = try? Self.chat(arguments.chat, secret: arguments.secret) else { return end(.exited(64)) }
        activity = .running
        let networks = [
            LocalNetwork(address: Address(ipv4: 0x7F00_0001, port: 0), prefixLength: 104),
            LocalNetwork(address: Address(high: 0, low: 1, port: 0), prefixLength: 128),
        ]
        endpoint.keepsWills(now: now)
        endpoint.setNetworks(networks, own: OwnAddresses(networks), port: UInt16(port), now: now)
        write(
            "ready",
            [
                "user": user(key), "name": .string(arguments.name), "port": .number(Double(port)), "version": "0",
                "chat": .string(first.name), "key": .string(key.base64url), "interface": 1,
                "unsupported": ["discovery", "sightings"],
            ])
        restoreDepartures()
        try? join(first)
        if first.secret == nil { notice("open-chat", ["chat": .string(first.name)]) }
        for peer in arguments.peers { Address(peer).map { endpoint.addPeer($0, now: now) } }
        finish()
    }

    func quit() {
        guard isRunning, activity != .quitting else { return }
        activity = .quitting
        endpoint.quit(now: now)
        finish()
    }

    private func end(_ status: ExitStatus) {
        activity = .ended
        stage.exit(status, of: id)
    }

    func receive(_ signal: ProgramSignal) {
        guard isRunning else { return }
        switch signal {
        case .kill: die()
        case .terminate, .interrupt: quit()
        case .stop: activity = .stopped
        case .terminalStop:
            activity = .suspending
            endpoint.suspend(now: now)
        case .resume: resume()
        }
        finish()
    }

    private func resume() {
        guard activity == .stopped else { return }
        activity = .running
        endpoint.resume(now: now)
        endpoint.advance(to: now)
        drain()
        let (datagrams, lines) = (socket, input)
        (socket, input) = ([], [])
        for (bytes, source, host, hopLimit) in datagrams { read(bytes, from: source, at: host, hopLimit: hopLimit) }
        for line in lines { receive(line: line) }
    }

    /// Ends without a bye. A helper then sends the last wills.
    private func die() {
        end(.signalled(9))
        for will in wills.sorted(by: { $0.key < $1.key }).map(\.value) {
            let source = UDPAddress(host: will.address.sourceHost, port: port)
            for copy in [Duration.zero] + Limits.copies {
                stage.schedule(after: copy) { [stage] in stage.carry(will.bytes, from: source, to: will.address.udp) }
            }
        }
    }

    // MARK: Time and datagrams

    func advance() {
        endpoint.advance(to: now)
        finish()
    }

    func receive(_ bytes: [UInt8], from source: UDPAddress, at host: String, hopLimit: Int?) {
        guard activity != .stopped else { return socket.append((bytes, source, host, hopLimit)) }
        read(bytes, from: source, at: host, hopLimit: hopLimit)
        finish()
    }

    private func read(_ bytes: [UInt8], from source: UDPAddress, at host: String, hopLimit: Int?) {
        guard let address = Address(source) else { return }
        arrivalHost = host
        endpoint.receive(bytes, from: address, hopLimit: hopLimit, now: now)
        drain()
        arrivalHost = nil
    }

    /// Ends an input: performs the outputs, reports that the socket is empty, and sets the timer.
    private func finish() {
        drain()
        if isRunning, activity != .stopped, endpoint.wantsSocketDrained {
            endpoint.socketDrained(now: now)
            drain()
        }
        if !endpoint.hasFarewells {
            if activity == .quitting { end(.exited(0)) }
            if activity == .suspending { activity = .stopped }
        }
        deadline = isRunning && activity != .stopped ? endpoint.nextWake().deadline : nil
    }

    // MARK: Requests

    func receive(line request: JSONValue?) {
        guard isRunning, activity != .quitting else { return }
        guard activity != .stopped else { return input.append(request) }
        lineNumber += 1
        do {
            guard let request, let word = request["do"]?.string else { throw Refusal.badCommand }
            try perform(word, request)
        } catch {
            let refusal = error as? Refusal ?? Refusal(code: (error as? CommandError)?.code ?? "refused")
            var members = refusal.members
            (members["id"], members["tag"]) = (request?["id"], request?["tag"])
            (members["code"], members["text"]) = (.string(refusal.code), .string(refusal.code))
            members["line"] = .number(Double(lineNumber))
            write("error", members)
        }
        finish()
    }

    private func perform(_ word: String, _ request: JSONValue) throws {
        switch word {
        case "compose":
            guard let text = request["text"]?.string else { throw Refusal.badCommand }
            try endpoint.compose(text, in: chat(of: request).id, now: now)
        case "send": return try send(request)
        case "join":
            let chat =
                try request["invite"]?.string.map { Self.chat(of: try Invite($0)) }
                ?? Self.chat(request["chat"]?.string ?? "", secret: request["secret"]?.string)
            return try join(chat, answering: request)
        case "leave": return try leave(request)
        case "open":
            let next = try request["chat"] == nil ? nil : chat(of: request).name
            if let chat = chats.first(where: { $0.name == currentChat }), next != currentChat {
                try endpoint.stopTyping(in: chat.id, now: now)
            }
            currentChat = next
        case "away", "back": endpoint.setAway(word == "away", now: now)
        case "nick": endpoint.rename(NormalForm.canonical(request["name"]?.string ?? ""), now: now)
        case "block", "unblock":
            guard let user = request["user"]?.string.flatMap({ UserID($0) }) else { throw Refusal.badCommand }
            if word == "block" { endpoint.block(user, now: now) } else { endpoint.unblock(user, now: now) }
        case "verify":
            standings[try key(request["key"])] = .verified
            endpoint.setStandings(standings, now: now)
        case "who":
            let chat = try chat(of: request)
            let people = endpoint.present(in: chat.id).map { json($0.person, $0.presence) }
            return answer(request, "who", ["chat": .string(chat.name), "peers": .array(people)])
        case "chats": return answer(request, "chats", ["chats": .array(chats.map(json))])
        case "stats": return answer(request, "stats", [:])
        case "quit":
            answer(request)
            return quit()
        default: return try performOfChats(word, request)
        }
        answer(request)
    }

    private func send(_ request: JSONValue) throws {
        let chat = try chat(of: request)
        guard let text = request["text"]?.string else { throw Refusal.badCommand }
        do {
            let sent = try endpoint.send(text, to: chat.id, now: now)
            report(sent.message, in: chat, to: sent.recipients, answering: request)
        } catch .queueFull(let key) {
            throw Refusal(code: "queue-full", members: ["user": user(key)])
        }
    }

    /// Writes `sent`.
    func report(_ message: UInt64, in chat: Chat, to recipients: Int, answering request: JSONValue) {
        let numbers: [String: JSONValue] = [
            "message": .number(Double(message)), "to": .number(Double(recipients)), "chat": .string(chat.name),
        ]
        answer(request, "sent", numbers.merging(request["tag"].map { ["tag": $0] } ?? [:]) { $1 })
    }

    func chat(of request: JSONValue) throws(Refusal) -> Chat {
        guard let name = request["chat"]?.string ?? currentChat else { throw .badCommand }
        guard let chat = chats.first(where: { $0.name == name }) else { throw Refusal(code: "unknown-chat") }
        return chat
    }

    func key(_ value: JSONValue?) throws(Refusal) -> PublicKey {
        guard let key = value?.string.flatMap({ try? PublicKey(base64url: $0) }) else { throw .badCommand }
        return key
    }

    // MARK: Chats

    func join(_ chat: Chat, answering request: JSONValue? = nil) throws {
        guard !chats.contains(where: { $0.name == chat.name }) else { throw CommandError.chatExists }
        try enter(chat)
        chats.append(chat)
        currentChat = currentChat ?? chat.name
        guard let request else { return }
        answer(request, "ok", json(chat).members)
        if chat.secret == nil { notice("open-chat", ["chat": .string(chat.name)]) }
    }

    func enter(_ chat: Chat) throws {
        try endpoint.join(
            chat.keys, isSecret: chat.secret != nil, talkWith: chat.partner, owner: chat.owner,
            refusing: Set(state.refused[chat.id] ?? []), now: now)
    }

    private func leave(_ request: JSONValue) throws {
        let chat = try chat(of: request)
        try endpoint.leave(chat.id, now: now)
        answer(request)
        drain()
        if currentChat == chat.name { currentChat = nil }
        chats.removeAll { $0.id == chat.id }
    }

    // MARK: Outputs

    func drain() {
        while let output = endpoint.nextOutput() { perform(output) }
    }

    private func perform(_ output: Output) {
        switch output {
        case .send(let bytes, let address, let kind):
            let isAnswer = [DatagramKind.response, .retry, .tell, .pong].contains(kind)
            let host = isAnswer ? arrivalHost : nil
            stage.carry(bytes, from: UDPAddress(host: host ?? address.sourceHost, port: port), to: address.udp)
        case .typing(let id, let people):
            let text: JSONValue = people.isEmpty ? "" : "somebody is typing"
            write("typing", in: id, ["users": .array(people.map { json($0) }), "text": text])
        case .presence(let id, let person, let presence, let why):
            write("peer", in: id, json(person, presence).members, why: why.rawValue)
        case .message(let id, let person, let number, let text, _):
            let delayed: [String: JSONValue] = endpoint.wantsSocketDrained ? ["delayed": true] : [:]
            endpoint.messageTaken(number, now: now)
            let members: [String: JSONValue] = [
                "from": json(person), "message": .number(Double(number)), "text": .string(text),
            ]
            write("message", in: id, members.merging(delayed) { $1 })
        case .delivered(let message, let id, let key):
            write("delivered", in: id, ["message": .number(Double(message)), "user": user(key)])
        case .failed(let message, let id, let key, let why):
            write("failed", in: id, ["message": .number(Double(message)), "user": user(key)], why: why.rawValue)
        case .keepWill(let session, let bytes, let address): wills[session] = (bytes, address)
        case .dropWill(let session): wills[session] = nil
        case .peerIsOneself: notice("peer-is-oneself", [:])
        case .invite(let id, let person, let invite): receive(invite, from: person, in: id)
        case .successor(let id, _, let successor): follow(successor, from: id)
        case .newcomer, .otherSuccessor, .reachable, .unreachable, .left: break
        }
    }

    // MARK: Lines

    /// Answers a request. An `ok` needs an `id`.
    func answer(_ request: JSONValue, _ kind: String = "ok", _ members: [String: JSONValue] = [:]) {
        guard kind != "ok" || request["id"] != nil else { return }
        write(kind, members.merging(request["id"].map { ["id": $0] } ?? [:]) { $1 })
    }

    func notice(_ code: String, _ members: [String: JSONValue]) {
        write("notice", members.merging(["code": .string(code), "text": .string(code)]) { $1 })
    }

    /// Writes an event of a chat.
    private func write(_ kind: String, in id: ChatID, _ members: [String: JSONValue], why: String? = nil) {
        guard let name = name(of: id) else { return }
        write(kind, members.merging(why.map { ["why": .string($0), "chat": name] } ?? ["chat": name]) { $1 })
    }

    private func write(_ kind: String, _ members: [String: JSONValue]) {
        let head: [String: JSONValue] = ["on": .string(kind), "at": .number(1_800_000_000 + stage.now.seconds)]
        stage.write(.object(head.merging(members) { $1 }), by: id)
    }

    func name(of id: ChatID) -> JSONValue? {
        (chats.first { $0.id == id } ?? state.departures.last { $0.chat.id == id }?.chat).map { .string($0.name) }
    }

    private func user(_ key: PublicKey) -> JSONValue { .string(key.userID.description) }

    /// Returns a person, with the members of `peer` if the presence is given.
    func json(_ person: Person, _ presence: Presence? = nil) -> JSONValue {
        var members: [String: JSONValue] = ["user": user(person.key), "name": .string(person.name)]
        guard let presence else { return .object(members) }
        (members["presence"], members["key"]) = (.string(presence.rawValue), .string(person.key.base64url))
        (members["verified"], members["blocked"]) = (.boolean(standings[person.key] == .verified), false)
        return .object(members)
    }
}

extension Address {
    /// An address on loopback.
    fileprivate init?(_ address: UDPAddress) {
        let bytes = address.host.split(separator: ".").compactMap { UInt32($0) }
        let port = UInt16(address.port)
        guard address.host == "::1" || bytes.count == 4 else { return nil }
        self =
            bytes.isEmpty
            ? Address(high: 0, low: 1, port: port)
            : Address(ipv4: bytes.reduce(0) { $0 << 8 | $1 }, port: port)
    }

    fileprivate var udp: UDPAddress {
        let bytes = ipv4.map { ipv4 in [24, 16, 8, 0].map { String(ipv4 >> UInt32($0) & 0xFF) } }
        return UDPAddress(host: bytes?.joined(separator: ".") ?? "::1", port: Int(port))
    }

    /// The host from which the system sends to this address.
    fileprivate var sourceHost: String { ipv4 == nil ? "::1" : "127.0.0.1" }
}
