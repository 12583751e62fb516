import InklingConsole
import InklingModel
import InklingText

/// A model of the prompt with a node that answers, a tiny terminal and a clock.
struct ChatStage: ModelStage {
    var model: ChatModel
    var terminal: TinyTerminal
    var screen: Screen
    var node = StageNode()
    var now: Int64 = 0
    /// All lines that were shown, without emphasis.
    private(set) var lines: [Line] = []
    /// All other effects but drawing, and those requests that change nothing.
    private(set) var effects: [ChatEffect] = []
    private(set) var asked: [ServiceRequest] = []
    /// The lines to recall in later runs.
    private(set) var kept: [String] = []
    private(set) var lasting: [Lasting] = []
    private(set) var draws = 0
    /// The requests that the node has not answered.
    private(set) var waiting: [(id: RequestID, request: ServiceRequest)] = []
    /// Whether the node answers within the request.
    var answersAtOnce = true

    /// Tuesday, 3 March 2026, 12:00.
    static let noon: Timestamp = 1_772_539_200

    init(
        _ chat: Chat? = nil, as name: String = "Alice", form: ChatDisplay.Form = .screen, folds: Bool = true,
        columns: Int = 80, rows: Int = 24, decorated: Bool = false, rings: Bool = false, reducedMotion: Bool = false,
        place: NodePlace = .own
    ) {
        let display = ChatDisplay(
            form: form, folds: folds, reducedMotion: reducedMotion, decorated: decorated, ringsForMentions: rings,
            place: place)
        model = ChatModel(
            chat ?? Self.chat("kitchen"), identity: Self.identity(name), display: display, texts: Self.texts,
            columns: columns, at: Moment(steady: 0, wall: Self.noon))
        terminal = TinyTerminal(columns: columns, rows: rows)
        screen = Screen(columns: columns, rows: rows, decorated: decorated)
    }

    static func chat(_ name: String) -> Chat {
        guard let chat = try? Chat(name) else { preconditionFailure("not a chat's name") }
        return chat
    }

    static func identity(_ name: String) -> NodeIdentity {
        NodeIdentity(user: user("a"), key: key("a"), name: name, port: 7, isTemporary: false)
    }

    static func user(_ letter: Character) -> UserID {
        guard let user = UserID(String(repeating: letter, count: 16)) else { preconditionFailure("not base32") }
        return user
    }

    static func key(_ letter: Character) -> PublicKey {
        guard let key = PublicKey(String(repeating: letter, count: 41) + "AA") else { preconditionFailure("no key") }
        return key
    }

    /// In UTC, of 2026 from March on.
    static func localTime(_ time: Timestamp) -> LocalTime {
        let minutes = Int(time.seconds(since: noon)) / 60 + 12 * 60
        let day = 3 + minutes / (24 * 60)
        return LocalTime(
            day: LocalTime.Day(year: 2026, month: 3, day: day), hour: minutes / 60 % 24, minute: minutes % 60)
    }

    static let texts = ChatTexts(
        localTime: localTime, error: { $0.fact }, notice: { $0.fact }, reach: { "You can be found." },
        newSecret: { secret }, arguments: " --here")

    static let secret: Secret = {
        guard let secret = try? Secret("abcdefghijklmnopqrstuvwxya") else { preconditionFailure("no secret") }
        return secret
    }()

    var texts: [String] { lines.map(\.text) }

    /// Those lines that were not handed out yet.
    mutating func newLines() -> [String] {
        defer { lines = [] }
        return texts
    }

    mutating func newEffects() -> [ChatEffect] {
        defer { effects = [] }
        return effects
    }

    mutating func newRequests() -> [ServiceRequest] {
        defer { asked = [] }
        return asked
    }

    // MARK: Inputs

    mutating func begin() { perform(model.begin(at: moment)) }

    /// Begins, and lets others be found.
    static func begun(
        _ people: [StagePerson] = [], as name: String = "Alice", form: ChatDisplay.Form = .screen, folds: Bool = true,
        columns: Int = 80, decorated: Bool = false, rings: Bool = false, reducedMotion: Bool = false,
        place: NodePlace = .own
    ) -> ChatStage {
        var stage = ChatStage(
            as: name, form: form, folds: folds, columns: columns, decorated: decorated, rings: rings,
            reducedMotion: reducedMotion, place: place)
        stage.begin()
        for person in people { stage.come(person) }
        stage.advance(by: 3_000)
        (stage.lines, stage.effects, stage.asked) = ([], [], [])
        return stage
    }

    mutating func perform(_ effects: [ChatEffect]) {
        var queue = effects[...]
        while let effect = queue.popFirst() {
            switch effect {
            case .show(let new):
                lines += new
                draw(new)
            case .draw: draw([])
            case .ask(let request):
                asked.append(request)
                guard !request.isEdit else { break }
                let id = node.nextRequestID.advance()
                model.assign(id)
                if answersAtOnce {
                    queue += model.receive(.answer(node.answer(request), to: id), at: moment)
                } else {
                    waiting.append((id, request))
                }
            case .clearScreen:
                self.effects.append(effect)
                terminal.write(screen.clear())
            case .keep(.line(let line)): kept.append(line)
            case .keep(let lasting): self.lasting.append(lasting)
            case .bell, .suspend, .complain, .cannotStart, .reattach, .beginEnd, .end:
                self.effects.append(effect)
            }
        }
    }

    private mutating func draw(_ lines: [Line]) {
        draws += 1
        terminal.write(
            screen.draw(
                appending: lines, indicator: model.indicator, emphasis: model.emphasis, prompt: model.prompt,
                editor: model.editor))
    }

    /// The node answers the first request that waits.
    mutating func answerNext() {
        guard !waiting.isEmpty else { return }
        let (id, request) = waiting.removeFirst()
        perform(model.receive(.answer(node.answer(request), to: id), at: moment))
    }

    mutating func press(_ bytes: [UInt8]) { perform(model.receive(bytes: bytes, at: moment)) }
    mutating func type(_ text: String) { press(Array(text.utf8)) }

    /// Enters a line as one types it, and returns what is shown.
    mutating func enter(_ line: String) -> [String] {
        _ = newLines()
        type(line + "\r")
        return newLines()
    }

    // MARK: Others

    mutating func receive(_ text: String, from person: StagePerson, in chat: String = "kitchen") {
        receive(.message(.init(chat: chat, from: person.person, id: 1, text: text)))
    }

    mutating func typing(_ people: StagePerson..., in chat: String = "kitchen") {
        receive(.typing(chat: chat, people.map(\.person)))
    }
}

/// Somebody whom the node knows.
struct StagePerson: Hashable {
    var name: String
    var letter: Character
    var isVerified = false
    var namesake: Peer.Namesake?
    var names: [String] = []
    var namedSince: Timestamp?

    var user: UserID { ChatStage.user(letter) }
    var key: PublicKey { ChatStage.key(letter) }
    var person: Person { Person(user: user, name: name) }

    func peer(_ presence: Presence, lastSeen: Timestamp? = nil) -> Peer {
        Peer(
            user: user, name: name, presence: presence, key: key, lastSeen: lastSeen,
            onlineSince: presence == .offline ? nil : ChatStage.noon, firstSeen: ChatStage.noon - .seconds(60),
            isVerified: isVerified, namesakes: namesake.map { [$0.user] } ?? [], namesake: namesake, names: names,
            namedSince: namedSince)
    }

    static let bob = StagePerson(name: "Bob", letter: "b")
    static let charlie = StagePerson(name: "Charlie", letter: "c")
    static let dora = StagePerson(name: "Dora", letter: "d")
}

/// A node that answers what it is asked.
struct StageNode {
    /// The people who are there, in each chat.
    var people: [UserID: StagePerson] = [:]
    /// The people met before.
    var met: [Peer] = []
    /// The people who were there and have left.
    var gone: [UserID: Peer] = [:]
    var blocked: [KnownPeer] = []
    var chats: [ChatStatus] = []
    /// The kept messages of the private chat.
    var kept: [RecentMessage] = []
    var keepsHistory = false
    /// The texts that wait for people who are offline.
    var waitingTexts: [WaitingEntry] = []
    /// The errors that answer the next requests in order, apart from those about typing and presence.
    var failures: [NodeError] = []
    /// The number of the latest message.
    var sent: MessageID = 0
    /// The answer to a sent invite.
    var invited = ServiceAnswer.done
    /// The chat that a talk or invitation leads to.
    var joined: Chat?
    var nextRequestID = RequestID()

    mutating func answer(_ request: ServiceRequest) -> ServiceAnswer {
        switch request {
        case .compose, .startTyping, .stopTyping, .setAway, .open, .read, .measureRoundTrips:
            return .done
        default:
            if !failures.isEmpty { return .failed(failures.removeFirst()) }
        }
        switch request {
        case .join(let chat, _, _): return .joined(chat, met)
        case .send:
            sent = MessageID(rawValue: sent.rawValue + 1)
            return .sent(message: sent, recipients: people.count)
        case .peers:
            let away = gone.merging(met.map { ($0.user, $0) }) { gone, _ in gone }.filter { people[$0.key] == nil }
            return .peers((people.values.map { $0.peer(.online) } + away.values).sorted { $0.name < $1.name })
        case .knownPeers: return .knownPeers(blocked)
        case .fingerprint: return .fingerprint((1...8).map { "0000\($0)" })
        case .messages(_, _, let text, let count):
            let numbered = kept.enumerated().map { place, message in
                var message = message
                message.entry = UInt64(place) + 1
                return message
            }
            let found = numbered.filter { message in text.map { FoldedText($0).occurs(in: message.text) } ?? true }
            return .messages(found.suffix(count ?? 50))
        case .history(let isOn, _):
            keepsHistory = isOn
            if !isOn { kept = [] }
            return .done
        case .waitingTexts: return .waitingTexts(waitingTexts)
        case .sightings: return .sightings(instance: nil, [])
        case .chats: return .chats(chats)
        case .status: return .status(NodeStatus(since: 0, isAway: false, frontEnds: 1, chats: []))
        case .statistics: return .statistics(Statistics())
        case .invite(_, let key): return key == nil ? .invite(nil) : invited
        case .move: return joined.map { .moved($0) } ?? .done
        case .enter: return joined.map { .joined($0, met) } ?? .done
        case .invitations: return .invitations([])
        default: return .done
        }
    }
}
