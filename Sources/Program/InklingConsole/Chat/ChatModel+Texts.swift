import InklingModel
import InklingText

/// Messages that wait for people who are offline. Only a daemon keeps them.
extension ChatModel {
    /// The difference between the times of writing and arrival above which a message counts as one that waited. Below
    /// it, the clocks of two computers may differ.
    private static let wait = 60.0

    /// Returns when a message was written that waited; nil for others.
    func written(_ message: ReceivedMessage, at time: Timestamp) -> LocalTime? {
        guard let written = message.written, time.seconds(since: written) >= Self.wait else { return nil }
        return texts.localTime(written)
    }

    /// Returns the line about a message of an earlier run of the daemon.
    mutating func lateOutcome(of user: UserID, in chat: String, failure: FailureReason?) -> [Line] {
        guard let index = index(of: chat) else { return [] }
        let name = states[index].label(of: user).isolated
        let line = "A message that waited for \(name) was \(failure == nil ? "delivered" : "given up")"
        return shown([ChatLines.notice(line)], in: index)
    }

    // MARK: Commands

    mutating func listWaiting() { askAboutTexts(.waitingTexts(chat: nil)) }

    mutating func hold(_ isOn: Bool, in chat: Chat) { askAboutTexts(.hold(isOn, chat: chat.name)) }

    /// Gives up the message with a number in the last list, or all messages.
    mutating func forget(_ number: Int?) {
        guard let number else { return askAboutTexts(.forget(chat: nil, entry: nil)) }
        guard listedTexts.indices.contains(number - 1) else {
            return answer(ChatLines.error("There is no waiting message number \(number); /waiting lists them"))
        }
        askAboutTexts(.forget(chat: nil, entry: listedTexts[number - 1]))
    }

    private mutating func askAboutTexts(_ request: ServiceRequest) {
        guard display.outlivesNode else {
            return answer(
                ChatLines.error(
                    "Only a daemon keeps messages for people who are offline. Start it with: inkling daemon"))
        }
        ask(request, for: .texts)
    }

    /// Receives an answer about waiting messages.
    mutating func receive(_ answer: ServiceAnswer, aboutTexts request: ServiceRequest) {
        switch (request, answer) {
        case (_, .failed(let error)): self.answer(ChatLines.error(texts.error(error)))
        case (.waitingTexts, .waitingTexts(let waiting)): self.answer(list(waiting))
        case (.hold(true, _), .done):
            self.answer(
                ChatLines.notice(
                    "From now on, messages to this chat wait on your computer for members who are offline. To end that: "
                        + "/waiting off"))
        case (.hold(false, _), .done):
            self.answer(
                ChatLines.notice("Messages to this chat reach only people who are online. To change that: /waiting on"))
        case (.forget(_, nil), .done):
            listedTexts = []
            self.answer(ChatLines.notice("No message waits any more"))
        case (.forget, .done): self.answer(ChatLines.notice("That message waits no more"))
        default: break
        }
    }

    private mutating func list(_ waiting: [WaitingEntry]) -> [Line] {
        listedTexts = waiting.map(\.entry)
        guard !waiting.isEmpty else { return [ChatLines.notice("No message waits for anybody")] }
        let today = localTime.day
        return waiting.enumerated().map { index, text in
            let known = self.index(of: text.chat).flatMap { states[$0].knownLabel(of: text.user)?.isolated }
            let place = text.chat == open?.chat.name ? "" : " in \(ChatLines.cut(text.chat, columns: 20))"
            let since = texts.localTime(text.at).text(on: today)
            let name = known ?? ChatLines.shown(text.name)
            return ChatLines.notice("\(index + 1)  for \(name)\(place), since \(since): ", excerpt: text.text)
        }
    }
}
