import InklingService
import InklingModel

/// A daemon's service over a node and a clock that the tests control, with the members of its ``World``.
@dynamicMemberLookup
final class ServiceStage {
    let node = FakeNode()
    let service: Service
    let history = FakeHistory()
    private let world = World()
    private var frontEnds: [StageFrontEnd] = []

    /// The surroundings of the service.
    final class World {
        var now: Int64 = 1_000
        /// The time that the machine has slept.
        var asleep: Int64 = 0
        /// The kept chats after each change.
        var kept: [[Chat]] = []
        /// The switches of waiting texts that were written with them.
        var holds: [[String: Bool]] = []
        /// The chat that the user left with the last change.
        var leaving: Chat?
        /// The left chats whose logs have ended.
        var finished: [Chat] = []
        /// The unread texts of an earlier run, by chat.
        var restored: [String: [TimedEvent]] = [:]
        /// The notice that texts are not kept.
        var textFault: Notice?
        /// The messages that the node need not keep any more.
        var read: [MessageID] = []
        /// How well the user knows some people. Others have the rank `met`.
        var ranks: [UserID: SenderRank] = [:]
        /// The chats of talks and invitations.
        var sources: [ChatSource: Chat] = [:]
        /// The newest chats of those that have moved.
        var moves: [Chat: Chat] = [:]
        /// The function that stands for the write of the kept chats, and calls its argument with the result.
        var keepCompletion: (@escaping (String?) -> Void) -> Void = { $0(nil) }
        /// The same for the user's name.
        var nameCompletion: (@escaping (Notice?) -> Void) -> Void = { $0(nil) }
        /// The kept chats that the node can't join, with the reasons.
        var refused: [Chat: NodeError] = [:]
        /// The chats that the user has left, and that lead nowhere else.
        var left: Set<Chat> = []
        /// The names that those of other chats speak against, unless confirmed.
        var doubtful: Set<String> = []
        /// Runs the rest of a join when the name is checked.
        var nameChecked: (@escaping () -> Void) -> Void = { $0() }
        /// The user's names that were kept.
        var names: [String] = []
        /// The number of requests to stop the daemon.
        var shutDowns = 0
        /// Called at each request to stop the daemon.
        var shutDown: () -> Void = {}

        func chat(of source: ChatSource, named name: String?) throws(NodeError) -> Chat {
            guard let chat = sources[source] else { throw .unknownInvitation(0) }
            guard let name else { return chat }
            return try chat.named(name)
        }
    }

    subscript<Value>(dynamicMember member: ReferenceWritableKeyPath<World, Value>) -> Value {
        get { world[keyPath: member] }
        set { world[keyPath: member] = newValue }
    }

    init(
        level: Service.Level = .daemon, kept: [Chat] = [], holds: [String: Bool] = [:], announcesAbsence: Bool = false,
        restored: [String: [TimedEvent]] = [:], nameChecked: @escaping (@escaping () -> Void) -> Void = { $0() }
    ) {
        world.nameChecked = nameChecked
        world.restored = restored
        service = Service(
            node, level: level, kept: kept, holds: holds, announcesAbsence: announcesAbsence,
            counts: { !$0.isEmpty && !$0.hasPrefix("/") },
            Service.Surroundings(
                steady: { [world] in world.now }, awake: { [world] in world.now - world.asleep }, wall: { 5.5 },
                keep: { [world] in
                    world.kept.append($0.chats)
                    world.holds.append($0.holds)
                    world.leaving = $1
                    world.keepCompletion($2)
                }, finishLeaving: { [world] in world.finished.append($0) },
                keepName: { [world] name, completion in
                    world.names.append(name)
                    world.nameCompletion(completion)
                },
                refusal: { [world] chat, isConfirmed, _, completion in
                    let isRefused = !isConfirmed && world.doubtful.contains(chat.name)
                    world.nameChecked { completion(isRefused ? .other(code: "private-name", text: "") : nil) }
                },
                rank: { [world] user, _ in world.ranks[user] ?? .met },
                chat: { [world] source, name throws(NodeError) in try world.chat(of: source, named: name) },
                present: { [world] in world.left.contains($0) ? nil : world.moves[$0] ?? $0 },
                shutDown: { [world] in
                    world.shutDowns += 1
                    world.shutDown()
                }, history: history,
                texts: UnreadTexts(
                    restored: { [world] in world.restored.removeValue(forKey: $0) ?? [] },
                    read: { [world] numbers, _ in world.read += numbers }, fault: { [world] in world.textFault })))
        service.chatRefused = { [world] chat, error in world.refused[chat] = error }
        service.begin()
    }

    func frontEnd(isPatient: Bool = false) -> StageFrontEnd {
        guard let frontEnd = service.attach(isPatient: isPatient).map({ StageFrontEnd($0) }) else {
            fatalError("no room")
        }
        frontEnds.append(frontEnd)
        return frontEnd
    }

    /// Returns a front end that is in a chat. With `opens`, the chat is also open.
    func frontEnd(in name: String, opens: Bool = true) throws -> StageFrontEnd {
        let frontEnd = frontEnd()
        frontEnd.ask(.join(try Chat(name)))
        if opens { frontEnd.ask(.open(chat: name)) }
        frontEnd.forget()
        return frontEnd
    }

    /// Lets the machine sleep. Work that is due then follows.
    func sleep(_ milliseconds: Int64) {
        world.now += milliseconds
        world.asleep += milliseconds
        service.tick()
    }

    /// Advances the clock, and performs the work that is then due.
    func pass(_ milliseconds: Int64) {
        let end = world.now + milliseconds
        while let deadline = service.nextDeadline, deadline <= end {
            world.now = max(world.now, deadline)
            service.tick()
        }
        world.now = end
    }
}

/// A front end that records its outputs.
final class StageFrontEnd {
    let service: any ChatService
    private(set) var outputs: [ServiceOutput] = []
    /// The ID of the latest request.
    private(set) var lastID = RequestID()
    private var depth = 0
    private(set) var deepest = 0
    /// The reaction to each output.
    var react: (ServiceOutput) -> Void = { _ in }

    init(_ service: any ChatService) {
        self.service = service
        service.attach { [weak self] output in
            guard let self else { return }
            depth += 1
            deepest = max(deepest, depth)
            outputs.append(output)
            react(output)
            depth -= 1
        }
    }

    /// Makes a request.
    ///
    /// - Returns: The latest answer so far.
    @discardableResult
    func ask(_ request: ServiceRequest) -> ServiceAnswer? {
        lastID = service.nextRequestID
        service.ask(request)
        return answers.last
    }

    /// Asks for messages, and returns them; none after another answer.
    func messages(_ request: ServiceRequest) -> [RecentMessage] {
        if case .messages(let messages)? = ask(request) { messages } else { [] }
    }

    func forget() { outputs = [] }

    /// Returns the outputs since the last call.
    func take() -> [ServiceOutput] {
        defer { outputs = [] }
        return outputs
    }

    var answers: [ServiceAnswer] {
        outputs.compactMap { if case .answer(let answer, _) = $0 { answer } else { nil } }
    }

    /// The events, with their times.
    var timed: [TimedEvent] {
        outputs.compactMap { if case .event(let timed) = $0 { timed } else { nil } }
    }

    var events: [Event] {
        outputs.compactMap { if case .event(let timed) = $0 { timed.event } else { nil } }
    }

    var unread: [Event] {
        outputs.compactMap { if case .unread(let timed) = $0 { timed.event } else { nil } }
    }

    var own: [String] {
        outputs.compactMap { if case .own(let message) = $0 { message.text } else { nil } }
    }

    var texts: [String] {
        events.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
    }

    var end: ServiceEnd? {
        if case .ended(let why) = outputs.last { why } else { nil }
    }
}

/// A history in memory.
final class FakeHistory: ChatHistory {
    var kept: [Chat: [RecentMessage]] = [:]
    /// The own messages whose outcomes were added.
    var outcomes: [RecentMessage] = []
    /// The reason for which the next changes fail.
    var failure: String?
    var report: (Notice) -> Void = { _ in }
    /// Whether added messages are lost, as on a full disk.
    var isLosing = false
    var fault: Notice?
    private(set) var queries: [HistoryQuery] = []

    func begin(_ report: @escaping (Notice) -> Void) { self.report = report }

    func keeps(_ chat: Chat) -> Bool { kept[chat] != nil }

    func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void) {
        if failure == nil { kept[chat] = isOn ? kept[chat] ?? [] : nil }
        completion(failure)
    }

    func add(
        _ message: RecentMessage, isOutcome: Bool, of node: NodeIdentity, in chat: Chat,
        _ completion: @escaping (UInt64) -> Void
    ) {
        if isOutcome { return outcomes.append(message) }
        guard !isLosing, kept[chat] != nil else { return }
        kept[chat]?.append(message)
        completion(UInt64(kept[chat]?.count ?? 0))
    }

    func addMissing(_ messages: [RecentMessage], of node: NodeIdentity, in chat: Chat) {
        if let last = kept[chat]?.last { kept[chat]? += messages.filter { $0.at > last.at } }
    }

    func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void) {
        queries.append(query)
        var all: [RecentMessage] = []
        for (place, var message) in (kept[chat] ?? []).enumerated() {
            message.entry = UInt64(place) + 1
            if UInt64(place) + 1 < query.before, query.text?.occurs(in: message.text) ?? true { all.append(message) }
        }
        var page = HistoryPage()
        (page.messages, page.isBeginning) = (all.suffix(query.count), all.count <= query.count)
        completion(page)
    }
}
