import InklingModel
import InklingText

/// The state of one chat in a session that shows text. The state converts events into lines, and names the people who
/// are typing.
///
/// Times without a unit in their names are milliseconds of a clock that never goes back.
package struct ChatState {
    /// The longest time that a message of this user waits for its delivery before it is shown without a mark.
    static let deliveryWait: Int64 = 150
    /// The time after joining in which peers may still appear, and for which messages wait. While nobody is there, the
    /// time is twice as long.
    static let settling: Int64 = 1_000
    /// The time for which deliveries share a line, after a line about one.
    private static let arrivalWait: Int64 = 2_000
    /// The number of messages without a known outcome that are named at the end.
    private static let abandonedLines = 3
    /// The number of lines that are kept for a chat that is not open.
    static let keptLines = 500
    /// The number of people who left that are remembered, as many as a node remembers.
    private static let rememberedPeople = 1_024
    /// The number of messages that an answer to /find shows.
    static let foundMessages = 20

    var chat: Chat
    /// The muted people. Their actions make no lines.
    package var muted: Set<UserID> = []
    var labels: Labels
    /// The name under which others know this user.
    var ownName: String
    /// The user's name in the form for searching messages.
    var mention: FoldedText
    /// The latest state of each person.
    var people: [UserID: Peer] = [:]
    var online: Set<UserID> = []
    /// The people who were present when the program was stopped, and have not come back yet.
    private var awaited: Set<UserID> = []
    private var presenceLines = PresenceLines()
    private var renameLines = RenameLines()
    private var keyAlarms = KeyAlarms()
    private var floods = Floods()
    var folded = FoldedMessages()
    var transcript = Transcript()
    private var typing: [UserID] = []
    private var sent: [MessageID: Delivery] = [:]
    private var unsent = UnsentMessages()
    /// The messages that all got since a line said so of one, until when they wait for one line together.
    private var arrived: (texts: [String], due: Int64)?
    /// An own message that is shown when its recipients have answered.
    private var held: (number: MessageID, text: String, due: Int64)?
    /// Messages that wait until peers could be found.
    private(set) var waiting: [String] = []
    private let joinedAt: Int64
    /// Lines that came while another chat was open.
    private var kept: [Line] = []
    private var leftOut = 0
    package private(set) var unread = 0
    var draft = LineEditor.Draft()
    /// Whether any chat has explained suffixes.
    var hasExplainedSuffix = false
    /// Whether somebody present has had the user's name since the user took it.
    private var hasNamesake = false
    /// Whether any other person has been online since the start.
    private(set) var metAnybody = false
    /// The number of deliveries and failures reported so far.
    private(set) var answers = 0
    /// The number of messages that reached nobody.
    private(set) var lostMessages = 0

    /// Makes the state of a chat.
    ///
    /// - Parameter met: people met in the chat before, who are not present.
    package init(_ chat: Chat, ownName: String, met: [Peer], at now: Int64) {
        self.chat = chat
        self.ownName = ownName
        mention = Self.mention(of: ownName)
        joinedAt = now
        labels = Labels(ownName: ownName)
        for peer in met {
            labels.update(Labels.Person(peer))
            people[peer.user] = peer
        }
    }

    var hasUnanswered: Bool { sent.values.contains { !$0.isKnown } }
    /// The people who are there, by name.
    var present: [Peer] { online.compactMap { people[$0] }.sorted { ($0.name, $0.user) < ($1.name, $1.user) } }
    var anybodyOnline: Bool { !online.isEmpty }
    /// Returns the latest state of a person.
    func peer(_ user: UserID) -> Peer? { people[user] }
    func label(of user: UserID) -> Labels.Label { labels.label(of: user.description) }
    /// Returns the label of a person who was met in this chat.
    func knownLabel(of user: UserID) -> Labels.Label? { people[user] == nil ? nil : label(of: user) }
    /// The labels of the people whose messages are folded.
    var foldedLabels: [Labels.Label] { folded.users.map { labels.label(of: $0) } }

    /// Returns the first lines of the chat.
    ///
    /// - Parameters:
    ///   - isFound: whether another person is there already.
    ///   - keepsTexts: whether messages wait for members who are offline.
    func greeting(isFound: Bool, keepsTexts: Bool) -> [Line] {
        let name = SafeText.line(chat.name)
        guard chat.partner == nil else { return [ChatLines.talk(name)] }
        let hint = chat.name.hasPrefix("#") && chat.name.count > 1 ? ChatLines.numberSign(name) : nil
        return [chat.isOpen ? ChatLines.openWarning(chat: name) : ChatLines.privateChat(name), hint].compactMap { $0 }
            + (isFound ? [] : [ChatLines.looking(keepsTexts: keepsTexts && !chat.isOpen)])
    }

    /// Returns the indicator without dots; empty when nobody is typing.
    ///
    /// - Parameter columns: the room for the indicator with its dots.
    package func indicator(_ style: IndicatorStyle, columns: Int = .max) -> String {
        let people = typing.filter { !muted.contains($0) }.map { label(of: $0) }
        let text = IndicatorText.isolatedText(people: people, style: style, columns: columns)
        return NameIsolation.isNeeded(in: text) ? text : NameIsolation.removed(from: text)
    }

    /// The other one, where just one is there, or has ever been.
    package func other(now: Timestamp) -> Prompt.Other? {
        let candidates = online.isEmpty ? Set(people.keys) : online
        guard candidates.count == 1, let user = candidates.first else { return nil }
        let presence = muted.contains(user) ? "muted" : presence(of: user, now: now) ?? ""
        return Prompt.Other(label: label(of: user), presence: presence)
    }

    /// Such as "Active now"; `nil` of somebody who is not known in this chat.
    package func presence(of user: UserID, now: Timestamp) -> String? {
        people[user].map { PresenceText.text($0.presence, lastSeen: $0.lastSeen, now: now) }
    }

    // MARK: Incoming events

    /// Changes the name under which others know this user.
    mutating func rename(_ name: String) {
        hasNamesake = hasNamesake && ownName == name
        ownName = name
        mention = Self.mention(of: name)
        labels.setOwnName(name)
    }

    /// Applies a changed presence of a person, or changed knowledge about a person.
    ///
    /// - Parameter alarm: the alarm about the key, to be shown before the person's messages.
    package mutating func apply(
        _ peer: Peer, why: PresenceReason, alarm: KeyAlarm?, at moment: Moment
    ) -> [Line] {
        let user = peer.user
        let wasOnline = online.contains(user)
        let formerLabel = label(of: user)
        labels.update(Labels.Person(peer))
        let before = people[user]?.presence ?? .offline
        people[user] = peer.presence == .offline ? peer.seen(at: moment.wall) : peer
        let label = label(of: user)
        guard peer.presence != .offline else {
            online.remove(user)
            typing.removeAll { $0 == user }
            let renamed = renameLines.beforeLeaving(of: user, at: moment.steady, labels: labels)
            defer { forgetSome() }
            // Lines do not report that a blocked person leaves, nor that a person leaves who was not shown.
            guard wasOnline, why != .blocked, !awaited.contains(user) else { return [] }
            return renamed + visible(presenceLines.record(label, why == .silence ? .silent : .left, at: moment.steady))
        }
        online.insert(user)
        metAnybody = true
        // A person who is back after a stop may have another name.
        if wasOnline || awaited.contains(user) { recordName(of: user, before: formerLabel) }
        var lines = renameLines.due(at: moment.steady, labels: labels)
        if let alarm { lines += record(alarm, about: user, at: moment.steady) }
        // A new name alone is not a change of presence.
        guard awaited.remove(user) == nil, before != peer.presence else { return lines }
        let change: PresenceChange = peer.presence == .away ? .away : before == .away ? .back : .online
        return lines + visible(presenceLines.record(label, change, at: moment.steady))
    }

    /// Returns the line about the first person who is called as the user is. Others then see both with a suffix.
    ///
    /// - Parameter own: the user.
    mutating func namesake(_ peer: Peer, of own: UserID) -> [Line] {
        guard !hasNamesake, Labels.areAlike(peer.name, ownName) else { return [] }
        hasNamesake = true
        return [ChatLines.namesake(Labels.suffixed(ownName, user: own.description))]
    }

    mutating func recordName(of user: UserID, before label: Labels.Label) {
        guard self.label(of: user).name != label.name, !muted.contains(user) else { return }
        renameLines.record(user, before: label)
    }

    /// Forgets people who left, except the last ones.
    private mutating func forgetSome() {
        guard people.count - online.count > Self.rememberedPeople else { return }
        let gone = people.filter { !online.contains($0.key) }
        let oldest = gone.sorted { ($0.value.lastSeen ?? 0, $0.key) < ($1.value.lastSeen ?? 0, $1.key) }
        for (user, _) in oldest.prefix(gone.count - Self.rememberedPeople / 2) {
            people[user] = nil
            labels.remove(user.description)
        }
    }

    /// Records an alarm about a person's key.
    package mutating func record(_ alarm: KeyAlarm, about user: UserID, at now: Int64) -> [Line] {
        let lines = keyAlarms.record(alarm, about: user.description, at: now, labels: labels)
        return lines.isEmpty ? [] : visible(presenceLines.flush()) + lines
    }

    /// Applies the people who are typing.
    ///
    /// - Returns: Lines about their arrivals that were not shown yet.
    package mutating func apply(typing people: [Person]) -> [Line] {
        for person in people where self.people[person.user] == nil { labels.update(Labels.Person(person)) }
        typing = people.map(\.user)
        return presenceLines.waits(for: typing.map(\.description)) ? visible(presenceLines.flush()) : []
    }

    /// Receives a message. A message of a flood is folded, and returns no line.
    ///
    /// - Parameters:
    ///   - page: the page that decides which messages are too long; `nil` to show all messages.
    ///   - time: the time when the message came.
    ///   - isDelayed: whether the message may have been written long before.
    ///   - written: when a message was written that waited; nil for others.
    package mutating func receive(
        message text: String, from person: Person, page: Page?, at now: Int64, time: LocalTime, isDelayed: Bool = false,
        written: LocalTime? = nil
    ) -> [Line] {
        if people[person.user] == nil { labels.update(Labels.Person(person)) }
        guard !muted.contains(person.user) else { return [] }
        let (user, text) = (person.user.description, Self.composed(text))
        transcript.add(Transcript.Message(user: user, text: text, time: time))
        var line = ChatLines.said(text, by: label(of: person.user), highlighting: mention)
        if let written {
            line.spans.append(Line.Span(text: "  (written \(written.text(on: time.day)))", emphasis: .dim))
        } else if isDelayed {
            line.spans.append(Line.Span(text: "  (written earlier)", emphasis: .dim))
        }
        if let page {
            guard !floods.countMessage(from: user, at: now) else {
                folded.fold(text, from: user, at: now, time: time)
                return []
            }
            if page.isTooLong(line) {
                folded.keep(text, from: user, time: time)
                let command = "/show " + label(of: person.user).text
                line.fold = Line.Fold(longest: Page.longestMessage, shown: Page.shownRows, command: command)
            }
        }
        return visible(presenceLines.flush()) + releaseHeld()
            + renameLines.beforeMessage(of: person.user, labels: labels)
            + keyAlarms.beforeMessage(of: user, labels: labels) + folded.report(on: user, labels: labels) + [line]
    }

    /// Records a sent message. Its outcomes follow.
    ///
    /// - Parameters:
    ///   - isShown: whether to show the message itself.
    ///   - wasShown: whether a line has shown the message already.
    ///   - time: the time when the message was sent.
    /// - Returns: The lines to show at once.
    package mutating func record(
        sent text: String, number: MessageID, recipients: Int, isShown: Bool, wasShown: Bool = false, at now: Int64,
        time: LocalTime
    ) -> [Line] {
        transcript.add(Transcript.Message(text: Self.composed(text), time: time))
        var lines = visible(presenceLines.flush()) + releaseHeld()
        guard recipients > 0 else {
            lostMessages += 1
            unsent.add(text)
            if isShown { lines.append(ChatLines.saidMyself(Self.composed(text), name: ownName)) }
            return lines + [ChatLines.reachedNobody(text: Self.composed(text))]
        }
        var delivery = Delivery(text: text, recipients: recipients, namesOne: online.count > 1)
        if wasShown { _ = delivery.show() }
        sent[number] = delivery
        if isShown { held = (number, Self.composed(text), now + Self.deliveryWait) }
        return lines
    }

    /// Records the outcome of one of this user's messages for a person: a failure if there is a reason.
    ///
    /// - Parameter shares: whether many deliveries share a line.
    package mutating func recordOutcome(
        of message: MessageID, by user: UserID, failure: FailureReason?, shares: Bool, at now: Int64
    ) -> [Line] {
        guard var delivery = sent[message] else { return [] }
        answers += 1
        var late: Line?
        if let failure {
            delivery.fail(label(of: user), why: failure)
        } else {
            late = delivery.succeed(label(of: user))
        }
        sent[message] = delivery
        let reports = held?.number == message ? [] : [late].compactMap { $0 }
        guard delivery.isSettled else { return reports }
        if delivery.reachedNobody { lostMessages += 1 }
        if delivery.hasFailed { unsent.add(delivery.text) }
        defer { sent[message] = nil }
        if held?.number == message { return releaseHeld() }
        guard let line = delivery.line else { return reports }
        guard shares, delivery.reachedAll else { return reports + [line] }
        return share(line, about: delivery.text, at: now)
    }

    /// Lets the line about a delivery share one with others, if a line has just said so of another message.
    private mutating func share(_ line: Line, about text: String, at now: Int64) -> [Line] {
        if let due = arrived?.due, now < due {
            arrived?.texts.append(text)
            return []
        }
        let earlier = arrivals()
        arrived = ([], now + Self.arrivalWait)
        return earlier + [line]
    }

    /// Returns the line about the deliveries that wait.
    private mutating func arrivals() -> [Line] {
        guard let texts = arrived?.texts, let last = texts.last else { return [] }
        arrived = nil
        let what = texts.count == 1 ? "Delivered" : "Delivered: \(texts.count) more messages, the last one"
        return [ChatLines.notice(what + ": ", excerpt: last)]
    }

    /// Records that one of this user's messages waits for a person.
    package mutating func recordWait(of message: MessageID, for user: UserID) -> [Line] {
        guard var delivery = sent[message] else { return [] }
        delivery.wait(for: label(of: user))
        sent[message] = delivery
        guard delivery.isKnown else { return [] }
        return held?.number == message ? releaseHeld() : [delivery.waitingLine].compactMap { $0 }
    }

    /// Whether a message failed or reached nobody.
    var hasUnsent: Bool { !unsent.isEmpty }

    /// Keeps a message that could not be sent.
    mutating func keepUnsent(_ text: String) { unsent.add(text) }

    /// Removes and returns the messages that failed or reached nobody, to send them again.
    mutating func drainUnsent() -> [String] { unsent.drain() }

    /// Stops awaiting outcomes.
    ///
    /// - Parameter isSeen: whether the chat is open. In another chat, the user has read no replies.
    /// - Returns: The last lines about this user's messages.
    package mutating func abandon(isSeen: Bool) -> [Line] {
        let lines = arrivals() + releaseHeld()
        let open = sent.sorted { $0.key < $1.key }.filter { !$0.value.isKnown }.map(\.value.abandonedLine)
        sent = [:]
        let rest = open.count - Self.abandonedLines
        let reports =
            isSeen ? keyAlarms.flush(labels: labels) + folded.report(labels: labels, isLast: true) : []
        return reports + lines + open.prefix(Self.abandonedLines) + (rest > 0 ? [ChatLines.abandoned(rest)] : [])
    }

    /// Returns the lines that are due.
    ///
    /// - Parameter isSeen: whether the chat is open. In other chats, reports about folded messages wait.
    package mutating func due(at now: Int64, isSeen: Bool) -> [Line] {
        var lines: [Line] = []
        if isSeen { lines = keyAlarms.due(at: now, labels: labels) + folded.due(at: now, labels: labels) }
        lines += visible(presenceLines.due(at: now)) + renameLines.due(at: now, labels: labels)
        if let arrived, arrived.due <= now { lines += arrivals() }
        return lines + (held.map { $0.due <= now } == true ? releaseHeld() : [])
    }

    /// Returns the time of the next call of `due(at:isSeen:)`; nil for none.
    package func nextDeadline(isSeen: Bool) -> Int64? {
        let reports = isSeen ? [keyAlarms.nextDeadline, folded.nextDeadline] : []
        return
            (reports + [
                presenceLines.nextDeadline, renameLines.nextDeadline, held?.due, waiting.isEmpty ? nil : settled,
                arrived.flatMap { $0.texts.isEmpty ? nil : $0.due },
            ])
            .compactMap { $0 }.min()
    }

    // MARK: Before others could be found

    private var settled: Int64 { joinedAt + (anybodyOnline ? Self.settling : 2 * Self.settling) }

    /// Returns whether the node may not have found all people yet.
    func isSettling(at now: Int64) -> Bool { now < settled }

    /// Makes a message wait until the node may have found all people.
    ///
    /// - Returns: The line that shows the message.
    mutating func wait(_ text: String, isShown: Bool) -> [Line] {
        waiting.append(text)
        guard isShown else { return [] }
        return visible(presenceLines.flush())
            + [ChatLines.saidMyself(Self.composed(text), name: ownName, mark: Delivery.onItsWay)]
    }

    mutating func drainWaiting() -> [String] {
        defer { waiting = [] }
        return waiting
    }

    private mutating func releaseHeld() -> [Line] {
        guard let (number, text, _) = held else { return [] }
        held = nil
        return [ChatLines.saidMyself(text, name: ownName, mark: sent[number]?.show())]
    }

    // MARK: Other front ends

    /// Receives a message that the user sent by another front end, which shows the outcomes.
    ///
    /// - Parameter time: the time when the message was sent.
    package mutating func receive(own text: String, time: LocalTime) -> [Line] {
        let text = Self.composed(text)
        transcript.add(Transcript.Message(text: text, time: time))
        return visible(presenceLines.flush()) + releaseHeld() + [ChatLines.saidMyself(text, name: ownName)]
    }

    /// Forgets all presences while the node is gone.
    mutating func detach(at time: Timestamp) {
        awaited.formUnion(online)
        for user in online { people[user] = people[user]?.gone(at: time) }
        online = []
        typing = []
        // The node's end made all people leave a moment ago.
        presenceLines.discard()
    }

    // MARK: Stops

    /// Prepares for a stop of the program. The prompt will not show that the others leave and come back.
    package mutating func willSuspend() { awaited.formUnion(online) }

    /// Ends the wait for people who were present before the stop.
    ///
    /// - Returns: The lines about those who have not come back.
    package mutating func returned(at now: Int64) -> [Line] {
        let gone = awaited.subtracting(online).sorted()
        awaited = []
        let lines = gone.flatMap { presenceLines.record(label(of: $0), .left, at: now) }
        return gone.isEmpty ? [] : visible(lines + presenceLines.flush())
    }

    // MARK: Out of sight

    /// Keeps lines that came while another chat is open.
    package mutating func keep(_ lines: [Line], isMessage: Bool) {
        if isMessage { unread += 1 }
        kept += lines
        leftOut += max(kept.count - Self.keptLines, 0)
        kept.removeFirst(max(kept.count - Self.keptLines, 0))
    }

    /// Removes and returns the lines that came while another chat was open.
    package mutating func catchUp() -> [Line] {
        defer { (kept, leftOut, unread) = ([], 0, 0) }
        let marker = unread > 0 ? [ChatLines.newMessages()] : []
        return marker + (leftOut > 0 ? [ChatLines.notice("\(leftOut) earlier lines are left out")] : []) + kept
            + keyAlarms.flush(labels: labels) + folded.report(labels: labels)
    }

    /// Counts the presence lines of muted people like others, but does not show them.
    private mutating func visible(_ lines: [PresenceLine]) -> [Line] {
        lines.flatMap { line -> [Line] in
            var line = line
            line.labels.removeAll { label in UserID(label.user).map(muted.contains) ?? false }
            // Somebody of the same name may have come since.
            line.labels = line.labels.map { labels.contains($0.user) ? labels.label(of: $0.user) : $0 }
            return line.labels.isEmpty ? [] : [ChatLines.presence(line)] + explanation(of: line)
        }
    }

    /// Returns the explanation of suffixes at the first shown suffix. If a known name has another key, the alarm
    /// explains more.
    private mutating func explanation(of line: PresenceLine) -> [Line] {
        guard !hasExplainedSuffix, line.change == .online,
            let label = line.labels.first(where: { label in
                !label.suffix.isEmpty && UserID(label.user).flatMap { people[$0]?.namesakes.isEmpty } == true
            })
        else { return [] }
        hasExplainedSuffix = true
        let hasNamesake = if case .several = labels.find(label.name) { true } else { false }
        return [ChatLines.suffix(of: label, hasNamesake: hasNamesake)]
    }

    private static func composed(_ text: String) -> String { NormalForm.canonical(text) }
}

/// The answers to commands about a chat.
extension ChatState {
    // MARK: Folded messages

    /// Removes and returns the folded messages of a person, or of all people.
    ///
    /// - Parameter showsTimes: whether to show when the messages came.
    package mutating func show(_ user: UserID?, showsTimes: Bool) -> [Line] {
        let answer = folded.drain(from: user?.description)
        guard !answer.isEmpty else { return [ChatLines.nothingFolded(from: user.map { label(of: $0) })] }
        var lines = answer.missing.map { ChatLines.notKept($0.count, from: labels.label(of: $0.user)) }
        if answer.missingOfOthers > 0 { lines.append(ChatLines.notKept(answer.missingOfOthers, from: nil)) }
        var timeline = Timeline()
        for message in answer.messages {
            let line = ChatLines.said(message.text, by: labels.label(of: message.user), highlighting: mention)
            lines += showsTimes ? timeline.stamped([line], at: message.time) : [line]
        }
        return lines
    }

    /// Reports the folded messages of a person so far.
    package mutating func reportFolded(of user: UserID) -> [Line] {
        folded.report(on: user.description, labels: labels)
    }

    // MARK: Questions

    /// Returns the answer to /who.
    ///
    /// - Parameters:
    ///   - doctor: the command that finds out why somebody does not show.
    ///   - columns: the width of the screen; nil without one.
    ///   - now: the time of day.
    package mutating func who(
        _ peers: [Peer], doctor: String, columns: Int?, now: Timestamp, localTime: (Timestamp) -> LocalTime
    ) -> [Line] {
        refresh(peers)

        guard !peers.isEmpty else {
            return [ChatLines.notice("Nobody else has been here yet. If somebody should be: \(doctor)")]
        }
        let people = peers.map { peer in
            ChatLines.Presence(
                label: label(of: peer.user),
                presence: peer.isBlocked
                    ? "Blocked" : PresenceText.text(peer.presence, lastSeen: peer.lastSeen, now: now),
                since: peer.onlineSince.map(localTime), seen: peer.lastSeen.map(localTime), roundTrip: peer.roundTrip,
                isVerified: peer.isVerified, isMuted: muted.contains(peer.user))
        }
        return ChatLines.people(people, columns: columns, today: localTime(now).day)
    }

    /// Updates the people with the node's current knowledge, and forgets offline people whom the node no longer lists.
    ///
    /// - Parameter peers: all people of the chat.
    mutating func refresh(_ peers: [Peer]) {
        let listed = Set(peers.map(\.user))
        for user in people.keys where !listed.contains(user) && !online.contains(user) && !awaited.contains(user) {
            people[user] = nil
            labels.remove(user.description)
        }
        // Another presence comes by an event.
        for peer in peers where people[peer.user]?.presence ?? .offline == peer.presence {
            let before = label(of: peer.user)
            people[peer.user] = peer
            labels.update(Labels.Person(peer))
            if online.contains(peer.user) { recordName(of: peer.user, before: before) }
        }
    }

    /// Returns the answer to /find.
    ///
    /// - Parameters:
    ///   - kept: the messages of the chat's history with the text, in order; nil without a history.
    ///   - showsTimes: whether to show when the messages were sent.
    package func find(_ text: String, kept: [Transcript.Message]? = nil, showsTimes: Bool) -> [Line] {
        let wanted = FoldedText(text)
        let hasHistory = kept != nil, kept = kept ?? []
        // A history begins when the user wants it, so the messages that it lacks are earlier.
        let found = transcript.messages(with: wanted).filter { said in !kept.contains { $0.isSame(as: said) } } + kept
        var lines = [
            ChatLines.found(
                found.count, text: text, shown: Self.foundMessages, isCut: transcript.isCut || !kept.isEmpty,
                hasHistory: hasHistory,
                hasMore: kept.count >= Self.foundKept)
        ]
        var timeline = Timeline()
        for message in found.suffix(Self.foundMessages) {
            let excerpt = ChatLines.excerpt(of: message.text, around: wanted)
            let line =
                message.user.map { ChatLines.said(excerpt, by: labels.label(of: $0)) }
                ?? ChatLines.saidMyself(excerpt, name: ownName)
            let shown = line.highlighting(wanted, from: 1)
            lines += showsTimes ? timeline.stamped([shown], at: message.time) : [shown]
        }
        return lines
    }

    // MARK: The own name

    /// Returns whether a message contains the user's name.
    func mentionsUser(_ text: String) -> Bool { mention.occurs(in: text, longest: Line.highlighted) }

    static func mention(of name: String) -> FoldedText {
        FoldedText(SafeText.name(name) ?? "", asWord: true)
    }
}
