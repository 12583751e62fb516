import InklingModel
import InklingText

/// What the user types and enters.
extension ChatModel {
    /// Deals with the input that waits, up to a command whose answer is to be awaited.
    mutating func proceed() {
        while isRunning, pending.isEmpty, let input = keyboard.next() {
            switch input {
            case .key(let key, let isLast): press(key, isLast: isLast)
            case .line(let line): enter(line, isEchoed: true)
            }
        }
    }

    private mutating func press(_ key: Key, isLast: Bool) {
        switch keyboard.editor.handle(key) {
        case .nothing: break
        case .complete: complete()
        case .openChat(let number): answer(open(number: number))
        case .edited: edited(isLast: isLast)
        case .submit(let line): enter(line)
        case .interrupt, .endOfInput: end()
        case .suspend:
            keyboard.isStopped = true
            emit(.suspend)
        case .redraw: emit(.clearScreen)
        case .refused: emit(.bell)
        case .full: answer(ChatLines.full())
        }
    }

    /// Others are told first: that takes microseconds, and drawing takes longer.
    private mutating func edited(isLast: Bool) {
        compose(keyboard.editor.text)
        if isLast { emit(.draw) }
    }

    private mutating func complete() {
        switch keyboard.completion.complete(&keyboard.editor, among: candidates) {
        case .completed: edited(isLast: true)
        case .choices(let texts): answer(ChatLines.choices(texts))
        case .nothing: emit(.bell)
        }
    }

    /// What Tab can complete to.
    private var candidates: Completion.Candidates {
        Completion.Candidates(
            people: open?.labels.all.map(\.text) ?? [], chats: states.map(\.chat.name),
            muted: mutedPeople.map(\.label.text), folded: open?.foldedLabels.map(\.text) ?? [])
    }

    /// - Parameter isEchoed: whether nothing was told of it yet while it was typed.
    private mutating func enter(_ line: String, isEchoed: Bool = false) {
        let command = PromptCommand(line)
        switch command {
        case .message(let text): return send(text)
        case .action(let deed): return send(ChatLines.message(ofDeed: deed))
        default: break
        }
        if !isEchoed { compose("") }
        perform(command)
    }

    // MARK: Messages

    /// The input field holds another text now.
    mutating func compose(_ text: String) {
        if let open { ask(.compose(text, chat: open.chat.name)) }
    }

    private mutating func send(_ text: String) {
        guard let index = openIndex else {
            return show([ChatLines.error("You are not in a chat. Join one: /join NAME")])
        }
        guard !keepUnsent(text) else { return }
        let chat = states[index].chat.name
        guard !states[index].isSettling(at: moment.steady) else {
            ask(.compose("", chat: chat))
            return states[index].wait(text)
        }
        ask(.send(text, chat: chat), for: .send)
    }

    mutating func sendWaiting(in index: Int) {
        for text in states[index].takeWaiting() { ask(.send(text, chat: states[index].chat.name), for: .send) }
    }

    /// A message was sent, or could not be.
    mutating func take(_ answer: ServiceAnswer, toSending text: String, in chat: String) {
        guard let index = index(of: chat) else { return }
        let lines: [Line]
        switch answer {
        case .sent(let number, let recipients):
            lines = states[index].take(
                sent: text, number: number, recipients: recipients, isShown: display.showsOwn, at: moment.steady,
                time: localTime)
        case .failed(let error):
            ask(.compose("", chat: chat))
            lines = [ChatLines.error(texts.error(error))]
        case .done, .joined, .peers, .knownPeers, .fingerprint, .invite, .sightings, .chats, .status, .statistics:
            return
        }
        if leaving[chat] != nil {
            leaving[chat]? += lines
        } else {
            show(shown(lines, in: index))
        }
    }
}
