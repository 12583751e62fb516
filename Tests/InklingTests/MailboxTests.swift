import Inkling
import InklingModel
import SeededRandom
import Testing

/// The events that a reader gets, and their order.
@Suite("The queue of a reader's events")
struct MailboxTests {
    // MARK: Making events

    static func person(_ number: Int) -> Person {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567")
        var text = [Character](repeating: "a", count: 16)
        var rest = number
        for place in text.indices {
            text[place] = letters[rest % 32]
            rest /= 32
        }
        return Person(user: UserID(String(text)).unsafelyUnwrapped, name: "Person \(number)")
    }

    static let key = PublicKey(String(repeating: "B", count: 42) + "A").unsafelyUnwrapped
    static let bob = person(1)
    static let carol = person(2)
    static let mallory = person(3)

    static func message(_ person: Person, _ number: Int, chat: String = "c") -> Event {
        .message(.init(chat: chat, from: person, id: MessageID(rawValue: UInt64(number)), text: "\(number)"))
    }

    static func peer(_ person: Person, _ presence: Presence, chat: String = "c") -> Event {
        let peer = Peer(user: person.user, name: person.name, presence: presence, key: key)
        return .peer(.init(chat: chat, peer, why: presence == .offline ? .bye : .hello))
    }

    static func taken(from queue: inout Mailbox, atMost count: Int = .max) -> [Event] {
        var events: [Event] = []
        while events.count < count, let event = queue.take() { events.append(event.event) }
        return events
    }

    static func add(_ events: [Event], to queue: inout Mailbox) {
        for event in events { queue.add(event.timed) }
    }

    // MARK: Order

    @Test("while little waits, everything is told in the order in which it came")
    func order() {
        var queue = Mailbox()
        let events: [Event] = [
            .notice(.peerIsOneself), Self.peer(Self.bob, .online), .typing(chat: "c", [Self.bob]),
            Self.message(Self.carol, 1), .delivered(.init(chat: "c", message: 1, user: Self.bob.user)),
            Self.message(Self.mallory, 2), Self.message(Self.carol, 3), Self.message(Self.carol, 4),
            .failed(.init(chat: "c", message: 2, user: Self.bob.user, why: .silence)), Self.message(Self.mallory, 5),
            Self.peer(Self.person(4), .away), Self.message(Self.mallory, 6, chat: "d"), .notice(.discoveryUp),
        ]
        Self.add(events, to: &queue)
        #expect(Self.taken(from: &queue) == events)
        #expect(queue.isEmpty)
    }

    @Test("behind a flood, all that changed shows after at most eight messages, and the flood goes on")
    func flood() {
        var queue = Mailbox()
        let strangers = (10..<210).map(Self.person)
        queue.begin(chat: "c", present: strangers.map(\.user), typing: [])
        var (number, last) = (0, 0)
        /// The messages taken since a stranger's presence changed, and since the typists were others than the reader knows.
        var (sincePresence, sinceTyping) = ([UserID: Int](), 0)
        var told: [Person] = []
        for step in 0..<20_000 {
            for _ in 0..<5 {
                number += 1
                queue.add(Self.message(Self.mallory, number).timed)
            }
            let stranger = strangers[step % strangers.count]
            queue.add(Self.peer(stranger, step % 3 == 0 ? .away : .online).timed)
            queue.add(Event.typing(chat: "c", [stranger]).timed)
            if sincePresence[stranger.user] == nil { sincePresence[stranger.user] = 0 }
            if told == [stranger] { sinceTyping = 0 }
            switch queue.take()?.event {
            case .message(let message):
                #expect(message.id.rawValue > last)
                last = Int(message.id.rawValue)
                sinceTyping += 1
                for user in sincePresence.keys { sincePresence[user]? += 1 }
            case .typing(_, let people): (told, sinceTyping) = (people, 0)
            case .peer(let change): sincePresence[change.peer.user] = nil
            default: break
            }
            #expect(sinceTyping <= 8 && sincePresence.values.max() ?? 0 <= 8)
        }
        #expect(last > 500, "and who floods has turns too")
        #expect(queue.otherCount <= 202 && queue.placeCount < 600)
    }

    @Test("what a person did in a chat keeps its order: coming, messages, going")
    func ownOrder() {
        var queue = Mailbox()
        let first = [Self.peer(Self.bob, .online), Self.message(Self.bob, 1), Self.message(Self.bob, 2)]
        Self.add(first + [Self.peer(Self.bob, .offline)], to: &queue)
        #expect(Self.taken(from: &queue) == first + [Self.peer(Self.bob, .offline)])
        // The queue does not report changes that were undone between two messages.
        Self.add(first + [Self.peer(Self.bob, .offline), Self.peer(Self.bob, .away)], to: &queue)
        Self.add([Self.message(Self.bob, 3)], to: &queue)
        #expect(
            Self.taken(from: &queue) == first + [Self.message(Self.bob, 3), Self.peer(Self.bob, .away)])
    }

    @Test("the end of typing comes before the message, and typing again after it; that of others does not wait")
    func typingAndMessages() {
        var queue = Mailbox()
        Self.add([.typing(chat: "c", [Self.bob, Self.carol])], to: &queue)
        #expect(Self.taken(from: &queue).count == 1)
        Self.add(
            [
                .typing(chat: "c", [Self.carol]), Self.message(Self.bob, 1),
                .typing(chat: "c", [Self.carol, Self.bob]),
                .typing(chat: "c", [Self.carol, Self.bob, Self.mallory]), Self.message(Self.bob, 2, chat: "d"),
            ], to: &queue)
        // After the first message is taken, no message of Bob waits in c. His message in d does not matter.
        #expect(
            Self.taken(from: &queue) == [
                .typing(chat: "c", [Self.carol, Self.mallory]), Self.message(Self.bob, 1),
                Self.message(Self.bob, 2, chat: "d"), .typing(chat: "c", [Self.carol, Self.bob, Self.mallory]),
            ])
    }

    @Test("typing that a message did not end goes on, and began before it; who goes types no more before that (T-13)")
    func typingThatGoesOn() {
        var queue = Mailbox()
        let beginning = [Self.peer(Self.bob, .online), .typing(chat: "c", [Self.bob]), Self.message(Self.bob, 1)]
        Self.add(beginning + [Self.message(Self.bob, 2)], to: &queue)
        #expect(Self.taken(from: &queue) == beginning + [Self.message(Self.bob, 2)])
        let end = [.typing(chat: "c", []), Self.peer(Self.bob, .offline)]
        Self.add(end, to: &queue)
        #expect(Self.taken(from: &queue) == end)
        // A list may wait because another one was just delivered. Later events still do not overtake it.
        Self.add([.typing(chat: "c", [Self.carol])], to: &queue)
        #expect(Self.taken(from: &queue).count == 1)
        Self.add([.typing(chat: "c", [Self.carol, Self.bob]), Self.message(Self.bob, 3)], to: &queue)
        #expect(
            Self.taken(from: &queue) == [.typing(chat: "c", [Self.carol, Self.bob]), Self.message(Self.bob, 3)])
    }

    @Test("the arrival of a typist comes before the list, also if a list of others waited before it")
    func arrivalBeforeList() {
        var queue = Mailbox()
        let (carolTypes, arrival) = (Event.typing(chat: "c", [Self.carol]), Self.peer(Self.bob, .online))
        let bothType = Event.typing(chat: "c", [Self.carol, Self.bob])
        Self.add([carolTypes, arrival, bothType], to: &queue)
        #expect(Self.taken(from: &queue) == [carolTypes, arrival, bothType])
    }

    @Test("who leaves types no more before that, also if a change of their presence waited before")
    func endOfTypingBeforeDeparture() {
        var queue = Mailbox()
        Self.add([Self.peer(Self.bob, .online), .typing(chat: "c", [Self.bob])], to: &queue)
        #expect(Self.taken(from: &queue).count == 2)
        let end = [Event.typing(chat: "c", []), Self.peer(Self.bob, .offline)]
        Self.add([Self.peer(Self.bob, .away)] + end, to: &queue)
        #expect(Self.taken(from: &queue) == end)
    }

    @Test("a warning about somebody's key comes just before them")
    func warning() {
        var queue = Mailbox()
        let warning = Event.notice(.keyChanged(Self.bob, known: Self.carol.user, isVerified: false))
        Self.add([Self.peer(Self.bob, .online), Self.peer(Self.carol, .online), warning], to: &queue)
        Self.add([Self.peer(Self.bob, .away)], to: &queue)
        #expect(
            Self.taken(from: &queue) == [warning, Self.peer(Self.bob, .away), Self.peer(Self.carol, .online)])
        Self.add([warning, Self.message(Self.bob, 1), Self.peer(Self.bob, .online)], to: &queue)
        #expect(Self.taken(from: &queue) == [warning, Self.message(Self.bob, 1), Self.peer(Self.bob, .online)])
    }

    // MARK: Bounds

    @Test("of typing, presence and notices the latest waits, and nothing of what was undone")
    func coalescing() {
        var queue = Mailbox()
        for round in 0..<100_000 {
            queue.add(Event.typing(chat: "c", round % 2 == 0 ? [Self.bob] : [Self.carol]).timed)
            queue.add(Self.peer(Self.bob, round % 2 == 0 ? .online : .away).timed)
            queue.add(Event.notice(round % 2 == 0 ? .discoveryDown(.gone) : .discoveryUp).timed)
        }
        #expect(queue.otherCount == 4 && queue.placeCount < 100)
        #expect(
            Self.taken(from: &queue) == [
                .typing(chat: "c", [Self.carol]), Self.peer(Self.bob, .away), .notice(.discoveryDown(.gone)),
                .notice(.discoveryUp),
            ])
        Self.add([.typing(chat: "c", []), .typing(chat: "c", [Self.carol])], to: &queue)
        #expect(queue.isEmpty, "the list is what was told")
    }

    @Test("of a chat that ended for the reader nothing waits but messages, and it is known what was told")
    func endedChat() {
        var queue = Mailbox()
        Self.add([Self.peer(Self.bob, .online), .typing(chat: "c", [Self.bob])], to: &queue)
        _ = Self.taken(from: &queue)
        Self.add([Self.peer(Self.carol, .online), .typing(chat: "c", [Self.carol])], to: &queue)
        let told = queue.end(chat: "c")
        #expect(told.present == [Self.bob.user] && told.isTyping && queue.isEmpty && queue.otherCount == 0)
        let again = queue.end(chat: "c")
        #expect(again.present.isEmpty && !again.isTyping)
    }

    @Test("100,000 people who come and go leave nothing, whether they typed or wrote nothing")
    func comingAndGoing() {
        var queue = Mailbox()
        queue.begin(chat: "c", present: [Self.bob.user], typing: [Self.bob])
        for number in 10..<100_010 {
            let person = Self.person(number)
            Self.add(
                [
                    Self.peer(person, .online), .typing(chat: "c", [Self.bob, person]),
                    .typing(chat: "c", [Self.bob]), Self.peer(person, .offline),
                ], to: &queue)
        }
        #expect(queue.otherCount == 2 && queue.placeCount < 100 && queue.isEmpty)
        // For people who were present before the reader began, the reader gets all events.
        Self.add([.typing(chat: "c", []), Self.peer(Self.bob, .offline)], to: &queue)
        #expect(Self.taken(from: &queue) == [.typing(chat: "c", []), Self.peer(Self.bob, .offline)])
        #expect(queue.otherCount == 0)
    }

    @Test("32 notices wait: of warnings about people the latest, and what concerns the node")
    func notices() {
        var queue = Mailbox()
        let warnings = (0..<100).map {
            Event.notice(.keyChanged(Self.person($0), known: Self.bob.user, isVerified: false))
        }
        Self.add([.notice(.discoveryDown(.gone))] + warnings, to: &queue)
        #expect(Self.taken(from: &queue) == [.notice(.discoveryDown(.gone))] + warnings.suffix(31))
    }

    @Test("outcomes beyond the limit are counted, and the count comes first")
    func outcomes() {
        var queue = Mailbox()
        for number in 0..<NodeLimits.waitingOutcomes + 5 {
            queue.add(
                Event.delivered(.init(chat: "c", message: MessageID(rawValue: UInt64(number)), user: Self.bob.user))
                    .timed)
        }
        #expect(queue.take()?.event == .missed(.init(chat: "c", messages: 0, outcomes: 5)))
        let rest = Self.taken(from: &queue)
        #expect(rest.count == NodeLimits.waitingOutcomes)
        #expect(rest.first == .delivered(.init(chat: "c", message: 0, user: Self.bob.user)))
    }

    @Test("messages that are given up are counted for each chat; the rest waits")
    func givingUp() {
        var queue = Mailbox()
        Self.add([.typing(chat: "c", [Self.bob])], to: &queue)
        _ = queue.take()
        Self.add(
            [
                Self.peer(Self.bob, .online), .typing(chat: "c", []), Self.message(Self.bob, 1),
                Self.message(Self.carol, 2, chat: "d"), Self.message(Self.bob, 3), .typing(chat: "c", [Self.bob]),
                Self.peer(Self.bob, .away), .delivered(.init(chat: "c", message: 9, user: Self.bob.user)),
                // A person who came and left before any report.
                Self.peer(Self.mallory, .online), Self.message(Self.mallory, 4), Self.peer(Self.mallory, .offline),
            ], to: &queue)
        #expect(queue.look(patience: 0) == [1, 2, 3, 4])
        #expect(queue.waitingMessages.isEmpty)
        #expect(
            Self.taken(from: &queue) == [
                .missed(.init(chat: "c", messages: 3, outcomes: 0)),
                .missed(.init(chat: "d", messages: 1, outcomes: 0)),
                Self.peer(Self.bob, .away), .delivered(.init(chat: "c", message: 9, user: Self.bob.user)),
            ])
        #expect(queue.isEmpty && queue.otherCount == 2, "Bob is there, and types")
    }

    // MARK: Outputs that need no turn

    @Test(
        "an output that a reader takes at once has the same effects as one that waits first",
        arguments: 0..<50 as Range<UInt64>)
    func passing(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (adding, passing) = (Mailbox(), Mailbox())
        func output() -> ServiceOutput {
            let (number, chat) = (Int(generator.next() % 100), ["c", "d"][Int(generator.next() % 2)])
            let person = Self.person(Int(generator.next() % 3))
            switch generator.next() % 12 {
            case 0: return .event(Self.peer(person, .online, chat: chat).timed)
            case 1: return .event(Self.peer(person, .offline, chat: chat).timed)
            case 2, 3: return .event(Event.typing(chat: chat, [person]).timed)
            case 4: return .event(Event.typing(chat: chat, [person, Self.person(3)]).timed)
            case 5: return .event(Event.typing(chat: chat, []).timed)
            case 6: return .event(Event.delivered(.init(chat: chat, message: 1, user: person.user)).timed)
            case 7: return .event(Event.notice(number % 2 == 0 ? .discoveryUp : .peerIsOneself).timed)
            case 8: return .own(OwnMessage(at: 1, chat: chat, message: 1, recipients: 1, text: "\(number)"))
            case 9: return .user(UserState(at: 1, name: "\(number)", isAway: false))
            case 10: return .event(Event.missed(.init(chat: chat, messages: number, outcomes: 0)).timed)
            default: return .event(Self.message(person, number, chat: chat).timed)
            }
        }
        for _ in 0..<2_000 {
            let output = output()
            let taken: (ServiceOutput?, ServiceOutput?)
            switch generator.next() % 5 {
            case 0:
                adding.add(output)
                passing.add(output)
                continue
            case 1: taken = (adding.next(), passing.next())
            case 2 where generator.next() % 20 == 0:
                adding.forgetTyping(in: "c")
                passing.forgetTyping(in: "c")
                continue
            default:
                adding.add(output)
                taken = (adding.next(), passing.next(after: output))
            }
            #expect(String(describing: taken.0) == String(describing: taken.1))
            #expect(adding.isEmpty == passing.isEmpty && adding.otherCount == passing.otherCount)
        }
    }

    // MARK: Anything

    @Test(
        "whatever comes and whenever it is taken, no message is lost, and the latest state is told",
        arguments: 0..<50 as Range<UInt64>)
    func anything(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = Mailbox()
        var (number, taken) = (0, 0)
        var (typing, told) = ([String: [Person]](), [String: [Person]]())
        var (there, shown) = ([String: [Person: Presence]](), [String: [Person: Presence]]())
        var last: [UserID: MessageID] = [:]
        func check(_ event: Event) {
            switch event {
            case .typing(let chat, let people):
                #expect(told[chat] ?? [] != people)
                told[chat] = people
            case .peer(let change):
                let peer = change.peer
                #expect(peer.presence != .offline || shown[change.chat]?[peer.person] ?? .offline != .offline)
                shown[change.chat, default: [:]][peer.person] = peer.presence
            case .message(let message):
                let (chat, person) = (message.chat, message.sender)
                taken += 1
                #expect(last[person.user] ?? 0 < message.id)
                last[person.user] = message.id
                #expect(shown[chat]?[person] ?? .offline != .offline, "they came before they wrote")
                #expect(told[chat]?.contains(person) != true, "typing had ended")
            default: Issue.record("\(event)")
            }
        }
        for _ in 0..<3_000 {
            let chat = ["c", "d"][Int(generator.next() % 2)]
            let person = Self.person(Int(generator.next() % 6))
            let isThere = there[chat]?[person] ?? .offline != .offline
            switch generator.next() % 8 {
            case 0 where isThere, 1 where isThere && generator.next() % 4 == 0:
                if typing[chat]?.contains(person) == true {
                    typing[chat]?.removeAll { $0 == person }
                    queue.add(Event.typing(chat: chat, typing[chat] ?? []).timed)
                }
                there[chat]?[person] = .offline
                queue.add(Self.peer(person, .offline, chat: chat).timed)
            case 0, 1, 2:
                let presence: Presence = generator.next() % 2 == 0 ? .online : .away
                there[chat, default: [:]][person] = presence
                queue.add(Self.peer(person, presence, chat: chat).timed)
            case 3, 4:
                guard isThere else { continue }
                if typing[chat]?.contains(person) == true {
                    typing[chat]?.removeAll { $0 == person }
                } else {
                    typing[chat, default: []].append(person)
                }
                queue.add(Event.typing(chat: chat, typing[chat] ?? []).timed)
            default:
                guard isThere else { continue }
                if typing[chat]?.contains(person) == true {
                    typing[chat]?.removeAll { $0 == person }
                    queue.add(Event.typing(chat: chat, typing[chat] ?? []).timed)
                }
                number += 1
                queue.add(Self.message(person, number, chat: chat).timed)
            }
            // Sometimes the reader pauses for a long time.
            if generator.next() % 500 == 0 { Self.taken(from: &queue).forEach(check) }
            if seed % 2 == 0, generator.next() % 2 == 0 { Self.taken(from: &queue, atMost: 1).forEach(check) }
        }
        Self.taken(from: &queue).forEach(check)
        #expect(queue.isEmpty && taken == number)
        for chat in ["c", "d"] {
            #expect(told[chat] ?? [] == typing[chat] ?? [])
            let isGone = { (entry: (key: Person, value: Presence)) in entry.value == .offline }
            let present = (there[chat] ?? [:]).filter { !isGone($0) }
            #expect((shown[chat] ?? [:]).filter { !isGone($0) } == present)
            for person in present.keys { queue.add(Self.peer(person, .offline, chat: chat).timed) }
            queue.add(Event.typing(chat: chat, []).timed)
        }
        _ = Self.taken(from: &queue)
        #expect(queue.otherCount == 0, "nothing is kept of who has gone")
    }
}

extension Event {
    var timed: TimedEvent { TimedEvent(at: 1, event: self) }
}
