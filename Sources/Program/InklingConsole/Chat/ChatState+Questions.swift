import InklingModel
import InklingText

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

    /// Updates the people with the node's current knowledge.
    mutating func refresh(_ peers: [Peer]) {
        // Another presence comes by an event.
        for peer in peers where people[peer.user]?.presence == peer.presence {
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
