import Foundation
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// What a session that shows text knows of one chat: turns what happens there into lines, and says who is typing.
///
/// Times without a unit in their names are milliseconds of a clock that never goes back.
package struct ChatState {
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
    /// Who is not to be heard: nothing that only they do makes a line.
    package var muted: Set<UserID> = []
    private(set) var labels: Labels
    private var people: [UserID: Known] = [:]
    private var online: Set<UserID> = []
    /// Who was there when the program was stopped, and has not shown since.
    private var awaited: Set<UserID> = []
    private var presenceLines = PresenceLines()
    private var keyAlarms = KeyAlarms()
    private var floods = Floods()
    private var folded = FoldedMessages()
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
    package private(set) var unread = 0
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
    package init(_ chat: Chat, ownName: String, met: [Peer], at now: Int64) {
        self.chat = chat
        joinedAt = now
        labels = Labels(ownName: ownName)
        for peer in met {
            labels.update(Labels.Person(peer))
            people[peer.user] = Known(lastSeen: peer.lastSeen)
        }
    }

    var hasUnanswered: Bool { sent.values.contains { !$0.isSettled } }
    var anybodyOnline: Bool { !online.isEmpty }
    func label(of user: UserID) -> Labels.Label { labels.label(of: user.description) }
    /// The label of somebody who was met in this chat.
    func knownLabel(of user: UserID) -> Labels.Label? { people[user] == nil ? nil : label(of: user) }
    /// The labels of those of whom something is folded.
    var foldedLabels: [Labels.Label] { folded.users.map { labels.label(of: $0) } }

    /// The lines that it begins with.
    var greeting: [Line] {
        let name = SafeText.line(chat.name)
        return (chat.isOpen ? [ChatLines.openWarning(chat: name)] : []) + (anybodyOnline ? [] : [ChatLines.looking()])
    }

    /// Who is typing, without dots; empty when nobody is.
    package func indicator(_ style: IndicatorStyle) -> String {
        IndicatorText.text(people: typing.filter { !muted.contains($0) }.map { label(of: $0) }, style: style)
    }

    /// The other one, where there is just one.
    package func other(now: Double) -> Prompt.Other? {
        guard people.count == 1, let user = people.keys.first else { return nil }
        let presence = muted.contains(user) ? "muted" : presence(of: user, now: now) ?? ""
        return Prompt.Other(label: label(of: user), presence: presence)
    }

    /// Such as "Active now"; `nil` of somebody who is not known in this chat.
    package func presence(of user: UserID, now: Double) -> String? {
        people[user].map { PresenceText.text($0.presence, lastSeen: $0.lastSeen, now: now) }
    }

    // MARK: What happens

    /// - Parameters:
    ///   - peer: what the node knows of the person.
    ///   - alarm: what has to be said about their key before anything that they say.
    ///   - page: what is too much; `nil` where nothing is.
    package mutating func take(
        _ person: Person, _ presence: Presence, why: PresenceReason, peer: Peer?, alarm: KeyAlarm?, page: Page?,
        at now: Int64
    ) -> [Line] {
        labels.update(peer.map { Labels.Person($0) } ?? Labels.Person(person))
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
        if let alarm { lines = take(alarm, about: person.user, page: page, at: now) }
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

    /// There is something to say about somebody's key.
    package mutating func take(_ alarm: KeyAlarm, about user: UserID, page: Page?, at now: Int64) -> [Line] {
        let lines = keyAlarms.take(alarm, about: user.description, at: now, labels: labels)
        return lines.isEmpty ? [] : told(presenceLines.flush()) + lines
    }

    package mutating func take(typing people: [Person]) {
        for person in people where self.people[person.user] == nil { labels.update(Labels.Person(person)) }
        typing = people.map(\.user)
    }

    /// A message came. Returns nothing if it belongs to a flood: then it waits until somebody asks for it.
    ///
    /// - Parameters:
    ///   - page: what is too much; `nil` where everything is shown.
    ///   - time: when it came.
    package mutating func take(
        message text: String, from person: Person, page: Page?, at now: Int64, time: LocalTime
    ) -> [Line] {
        if people[person.user] == nil { labels.update(Labels.Person(person)) }
        guard !muted.contains(person.user) else { return [] }
        let (user, text) = (person.user.description, Self.composed(text))
        var line = ChatLines.message(from: label(of: person.user), text: text)
        if let page {
            guard !floods.take(from: user, at: now) else {
                folded.fold(text, from: user, at: now, time: time)
                return []
            }
            if page.isTooLong(line) {
                folded.keep(text, from: user, time: time)
                let command = "/show " + label(of: person.user).text
                line.fold = Line.Fold(longest: Page.longestMessage, shown: Page.shownRows, command: command)
            }
        }
        return told(presenceLines.flush()) + releaseHeld() + keyAlarms.beforeMessage(of: user, labels: labels)
            + folded.report(on: user, labels: labels) + [line]
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
    ///
    /// - Parameter isSeen: whether it is the open chat: of what others said in another one, nothing was read anyway.
    package mutating func abandon(isSeen: Bool) -> [Line] {
        let lines = releaseHeld()
        let open = sent.sorted { $0.key < $1.key }.map(\.value.abandonedLine)
        sent = [:]
        let rest = open.count - Self.abandonedLines
        let reports =
            isSeen ? keyAlarms.flush(labels: labels) + folded.report(labels: labels, isLast: true) : []
        return reports + lines + open.prefix(Self.abandonedLines) + (rest > 0 ? [ChatLines.abandoned(rest)] : [])
    }

    /// What has to be reported by now.
    ///
    /// - Parameter isSeen: whether it is the open chat: in others, reports of what there was too much of wait.
    package mutating func due(at now: Int64, isSeen: Bool) -> [Line] {
        var lines: [Line] = []
        if isSeen { lines = keyAlarms.due(at: now, labels: labels) + folded.due(at: now, labels: labels) }
        return lines + told(presenceLines.due(at: now)) + (held.map { $0.due <= now } == true ? releaseHeld() : [])
    }

    /// When to call `due(at:isSeen:)`, if at all.
    package func nextDeadline(isSeen: Bool) -> Int64? {
        let reports = isSeen ? [keyAlarms.nextDeadline, folded.nextDeadline] : []
        return (reports + [presenceLines.nextDeadline, held?.due, waiting.isEmpty ? nil : settled])
            .compactMap { $0 }.min()
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
        let gone = awaited.subtracting(online).subtracting(muted).sorted()
        awaited = []
        return gone.isEmpty ? [] : [ChatLines.presence(of: gone.map { label(of: $0) }, .left)]
    }

    // MARK: Out of sight

    /// Keeps lines that came while another chat is open.
    package mutating func keep(_ lines: [Line], isMessage: Bool) {
        if isMessage { unread += 1 }
        kept += lines
        leftOut += max(kept.count - Self.keptLines, 0)
        kept.removeFirst(max(kept.count - Self.keptLines, 0))
    }

    /// What came while another chat was open.
    package mutating func catchUp() -> [Line] {
        defer { (kept, leftOut, unread) = ([], 0, 0) }
        return (leftOut > 0 ? [ChatLines.notice("\(leftOut) earlier lines are left out")] : []) + kept
            + keyAlarms.flush(labels: labels) + folded.report(labels: labels)
    }

    // MARK: Too much

    /// What was folded of somebody, or of everybody. It can be asked for once.
    ///
    /// - Parameter showsTimes: whether to say when the messages came.
    package mutating func show(_ user: UserID?, showsTimes: Bool) -> [Line] {
        let answer = folded.take(from: user?.description)
        guard !answer.isEmpty else { return [ChatLines.nothingFolded(from: user.map { label(of: $0) })] }
        var lines = answer.missing.map { ChatLines.notKept($0.count, from: labels.label(of: $0.user)) }
        if answer.missingOfOthers > 0 { lines.append(ChatLines.notKept(answer.missingOfOthers, from: nil)) }
        var timeline = Timeline()
        for message in answer.messages {
            let line = ChatLines.message(from: labels.label(of: message.user), text: message.text)
            lines += showsTimes ? timeline.stamped([line], at: message.time) : [line]
        }
        return lines
    }

    /// Reports what was folded of somebody so far.
    package mutating func reportFolded(of user: UserID) -> [Line] {
        folded.report(on: user.description, labels: labels)
    }

    // MARK: Questions

    /// The answer to /who.
    ///
    /// - Parameter doctor: the command that finds out why somebody does not show.
    package func who(_ peers: [Peer], doctor: String, now: Double = Date().timeIntervalSince1970) -> [Line] {
        guard !peers.isEmpty else {
            return [ChatLines.notice("Nobody else has been here yet. If somebody should be: \(doctor)")]
        }
        return peers.map { peer in
            ChatLines.person(
                label(of: peer.user),
                presence: peer.isBlocked
                    ? "Blocked" : PresenceText.text(peer.presence, lastSeen: peer.lastSeen, now: now),
                since: peer.onlineSince.map { LocalTime($0) }, roundTrip: peer.roundTrip, isVerified: peer.isVerified,
                isMuted: muted.contains(peer.user))
        }
    }

    /// That somebody muted comes or goes is counted, as ever, but not told.
    private func told(_ lines: [PresenceLine]) -> [Line] {
        lines.compactMap { line in
            var line = line
            line.labels.removeAll { label in UserID(label.user).map(muted.contains) ?? false }
            return line.labels.isEmpty ? nil : ChatLines.presence(line)
        }
    }

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
