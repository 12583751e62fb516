import Foundation
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// What a session that shows text knows of one chat: turns what happens there into lines, and says who is typing.
///
/// Times without a unit in their names are milliseconds of a clock that never goes back.
struct ChatState {
    /// How long an own message waits for its delivery before it is shown without.
    static let deliveryWait: Int64 = 150
    /// For how long after joining others are still being found, and what is sent waits for them; twice as long while
    /// there is nobody.
    static let settling: Int64 = 1_000
    /// How many messages that are not known to be delivered are named at the end.
    private static let abandonedLines = 3
    /// How many lines are kept for a chat that is not open.
    static let keptLines = 500
    /// How many of those who went are remembered, as many as a node remembers.
    private static let rememberedPeople = NodeLimits.rememberedPeers

    let chat: Chat
    private(set) var labels: Labels
    private var people: [UserID: Known] = [:]
    private var online: Set<UserID> = []
    /// Who was there when the program was stopped, and has not shown since.
    private var awaited: Set<UserID> = []
    private var presenceLines = PresenceLines()
    private var typing: [UserID] = []
    private var sent: [UInt64: Delivery] = [:]
    /// An own message that is shown as soon as it is known who has it.
    private var held: (number: UInt64, text: String, due: Int64)?
    /// What was sent before others could be found.
    private(set) var waiting: [String] = []
    private let joinedAt: Int64
    /// What came while another chat was open.
    private var kept: [Line] = []
    private var leftOut = 0
    private(set) var unread = 0
    var draft = LineEditor.Draft()
    /// Whether anybody has been online since the start.
    private(set) var metAnybody = false
    /// How many deliveries and failures were reported.
    private(set) var answers = 0
    /// How many messages were not delivered to anybody at all.
    private(set) var lostMessages = 0

    private struct Known {
        var presence = Presence.offline
        var lastSeen: Double?
    }

    /// - Parameter met: those who were met in the chat before.
    init(_ chat: Chat, ownName: String, met: [Peer], at now: Int64) {
        self.chat = chat
        joinedAt = now
        labels = Labels(ownName: ownName)
        for peer in met {
            labels.update(Self.person(peer))
            people[peer.user] = Known(lastSeen: peer.lastSeen)
        }
    }

    var hasUnanswered: Bool { sent.values.contains { !$0.isSettled } }
    var anybodyOnline: Bool { !online.isEmpty }
    func label(of user: UserID) -> Labels.Label { labels.label(of: user.description) }

    /// The lines that it begins with.
    var greeting: [Line] {
        let name = SafeText.line(chat.name)
        return (chat.isOpen ? [ChatLines.openWarning(chat: name)] : []) + (anybodyOnline ? [] : [ChatLines.looking()])
    }

    /// Who is typing, without dots; empty when nobody is.
    func indicator(_ style: IndicatorStyle) -> String {
        IndicatorText.text(people: typing.map { label(of: $0) }, style: style)
    }

    /// The other one, where there is just one.
    func other(now: Double) -> Prompt.Other? {
        guard people.count == 1, let (user, known) = people.first else { return nil }
        let presence = PresenceText.text(known.presence, lastSeen: known.lastSeen, now: now)
        return Prompt.Other(label: label(of: user), presence: presence)
    }

    // MARK: What happens

    /// - Parameters:
    ///   - peer: what the node knows of the person.
    ///   - warning: what has to be said about their key before anything else.
    mutating func take(
        _ person: Person, _ presence: Presence, why: PresenceReason, peer: Peer?, warning: ((Labels.Label) -> Line)?,
        at now: Int64
    ) -> [Line] {
        labels.update(peer.map(Self.person) ?? Self.person(person))
        let wasOnline = online.contains(person.user)
        let before = people[person.user]?.presence ?? .offline
        people[person.user] = Known(
            presence: presence, lastSeen: presence == .offline ? peer?.lastSeen ?? Date().timeIntervalSince1970 : nil)
        let label = label(of: person.user)
        guard presence != .offline else {
            online.remove(person.user)
            typing.removeAll { $0 == person.user }
            defer { forgetSome() }
            // The leaving of somebody blocked is not reported, and somebody unseen can't leave.
            guard wasOnline, why != .blocked, !awaited.contains(person.user) else { return [] }
            return told(presenceLines.take(label, why == .silence ? .silent : .left, at: now))
        }
        online.insert(person.user)
        metAnybody = true
        var lines: [Line] = []
        if let warning { lines = told(presenceLines.flush()) + [warning(label)] }
        // A change of name alone is not a change of presence.
        guard awaited.remove(person.user) == nil, before != presence else { return lines }
        let change: PresenceChange = presence == .away ? .away : before == .away ? .back : .online
        return lines + told(presenceLines.take(label, change, at: now))
    }

    /// Of those who went only the last are remembered.
    private mutating func forgetSome() {
        guard people.count - online.count > Self.rememberedPeople else { return }
        let gone = people.filter { !online.contains($0.key) }
        let oldest = gone.sorted { ($0.value.lastSeen ?? 0, $0.key) < ($1.value.lastSeen ?? 0, $1.key) }
        for (user, _) in oldest.prefix(gone.count - Self.rememberedPeople / 2) {
            people[user] = nil
            labels.remove(user.description)
        }
    }

    mutating func take(typing people: [Person]) {
        for person in people where self.people[person.user] == nil { labels.update(Self.person(person)) }
        typing = people.map(\.user)
    }

    mutating func take(message text: String, from person: Person) -> [Line] {
        if people[person.user] == nil { labels.update(Self.person(person)) }
        let line = ChatLines.message(from: label(of: person.user), text: Self.composed(text))
        return told(presenceLines.flush()) + releaseHeld() + [line]
    }

    /// A message was sent. Returns what shows at once; what becomes of it follows.
    ///
    /// - Parameter isShown: whether the own message itself is to be shown.
    mutating func take(
        sent text: String, number: UInt64, recipients: Int, isShown: Bool, at now: Int64
    ) -> [Line] {
        var lines = told(presenceLines.flush()) + releaseHeld()
        guard recipients > 0 else {
            lostMessages += 1
            if isShown { lines.append(ChatLines.own(text: Self.composed(text))) }
            return lines + [ChatLines.reachedNobody(text: Self.composed(text))]
        }
        sent[number] = Delivery(text: text, recipients: recipients, namesOne: people.count > 1)
        if isShown { held = (number, Self.composed(text), now + Self.deliveryWait) }
        return lines
    }

    /// Somebody has an own message, or does not if there is a reason.
    mutating func take(answerFor message: UInt64, by user: UserID, failure: FailureReason?) -> [Line] {
        guard var delivery = sent[message] else { return [] }
        answers += 1
        if let failure {
            delivery.fail(label(of: user), why: failure)
        } else {
            delivery.succeed(label(of: user))
        }
        sent[message] = delivery
        guard delivery.isSettled else { return [] }
        if delivery.reachedNobody { lostMessages += 1 }
        let lines = held?.number == message ? releaseHeld() : [delivery.line].compactMap { $0 }
        sent[message] = nil
        return lines
    }

    /// Nobody waits for answers any more. Returns what there is to say of own messages yet.
    mutating func abandon() -> [Line] {
        let lines = releaseHeld()
        let open = sent.sorted { $0.key < $1.key }.map(\.value.abandonedLine)
        sent = [:]
        let rest = open.count - Self.abandonedLines
        return lines + open.prefix(Self.abandonedLines) + (rest > 0 ? [ChatLines.abandoned(rest)] : [])
    }

    /// What has to be reported by now.
    mutating func due(at now: Int64) -> [Line] {
        told(presenceLines.due(at: now)) + (held.map { $0.due <= now } == true ? releaseHeld() : [])
    }

    var nextDeadline: Int64? {
        [presenceLines.nextDeadline, held?.due, waiting.isEmpty ? nil : settled].compactMap { $0 }.min()
    }

    // MARK: Before others could be found

    private var settled: Int64 { joinedAt + (anybodyOnline ? Self.settling : 2 * Self.settling) }

    /// Whether somebody who is there may not have been found yet.
    func isSettling(at now: Int64) -> Bool { now < settled }

    /// A message waits until others could be found.
    mutating func wait(_ text: String) { waiting.append(text) }

    mutating func takeWaiting() -> [String] {
        defer { waiting = [] }
        return waiting
    }

    private mutating func releaseHeld() -> [Line] {
        guard let (number, text, _) = held else { return [] }
        held = nil
        return [ChatLines.own(text: text, mark: sent[number]?.show())]
    }

    // MARK: Stops

    /// The program is about to be stopped: that the others vanish then, and come back, is nothing to show.
    mutating func willSuspend() { awaited.formUnion(online) }

    /// Those who should be back by now. Returns what there is to say of the others.
    mutating func returned() -> [Line] {
        let gone = awaited.subtracting(online).sorted()
        awaited = []
        return gone.isEmpty ? [] : [ChatLines.presence(of: gone.map { label(of: $0) }, .left)]
    }

    // MARK: Out of sight

    /// Keeps lines that came while another chat is open.
    mutating func keep(_ lines: [Line], isMessage: Bool) {
        if isMessage { unread += 1 }
        kept += lines
        leftOut += max(kept.count - Self.keptLines, 0)
        kept.removeFirst(max(kept.count - Self.keptLines, 0))
    }

    /// What came while another chat was open.
    mutating func catchUp() -> [Line] {
        defer { (kept, leftOut, unread) = ([], 0, 0) }
        return (leftOut > 0 ? [ChatLines.notice("\(leftOut) earlier lines are left out")] : []) + kept
    }

    // MARK: Questions

    /// The answer to /who.
    ///
    /// - Parameter doctor: the command that finds out why somebody does not show.
    func who(_ peers: [Peer], doctor: String, now: Double = Date().timeIntervalSince1970) -> [Line] {
        guard !peers.isEmpty else {
            return [ChatLines.notice("Nobody else has been here yet. If somebody should be: \(doctor)")]
        }
        return peers.map { peer in
            ChatLines.person(
                label(of: peer.user),
                presence: peer.isBlocked
                    ? "Blocked" : PresenceText.text(peer.presence, lastSeen: peer.lastSeen, now: now),
                since: peer.onlineSince.map { LocalTime($0) }, roundTrip: peer.roundTrip, isVerified: peer.isVerified)
        }
    }

    private static func person(_ peer: Peer) -> Labels.Person {
        Labels.Person(
            user: peer.user.description, name: peer.name,
            acquaintance: peer.namesakes.isEmpty ? .known : .changedKey, isVerified: peer.isVerified)
    }

    private static func person(_ person: Person) -> Labels.Person {
        Labels.Person(user: person.user.description, name: person.name)
    }

    private func told(_ lines: [PresenceLine]) -> [Line] { lines.map { ChatLines.presence($0) } }

    private static func composed(_ text: String) -> String { NormalForm.canonical(text) }
}

extension LocalTime {
    /// - Parameter time: seconds since 1970.
    init(_ time: Double) {
        var seconds = time_t(time)
        var parts = tm()
        localtime_r(&seconds, &parts)
        self.init(
            day: Day(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday)),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min))
    }
}
