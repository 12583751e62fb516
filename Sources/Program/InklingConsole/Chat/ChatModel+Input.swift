import InklingModel
import InklingText

/// The user's input.
extension ChatModel {
    /// Processes waiting input, up to a command whose answer the prompt must await.
    mutating func proceed() {
        while isRunning, pending.isEmpty, let input = keyboard.next() {
            switch input {
            case .key(let key, let isLast): press(key, isLast: isLast)
            case .line(let line): enter(line, isEchoed: true)
            }
        }
    }

    /// Returns whether keys end the session while it awaits an answer. A node that does not answer must not prevent the
    /// end.
    func isEnd(_ keys: [Key]) -> Bool {
        let interrupts = keys.count { $0 == .control("c") }
        guard interrupts > 0, !pending.isEmpty else { return false }
        return pending.isStarting || interrupts > 1 || keyboard.holdsInterrupt
    }

    private mutating func press(_ key: Key, isLast: Bool) {
        let answer = keyboard.editor.handle(key)
        let wasInterrupted = self.wasInterrupted
        self.wasInterrupted = answer == .interrupt
        switch answer {
        case .nothing: break
        case .complete: complete()
        case .openChat(let number): self.answer(open(number: number))
        case .edited: edited(isLast: isLast)
        case .submit(let line):
            if !HistoryLine.isSecret(line) { emit(.keep(.line(line))) }
            enter(line)
        case .interrupt where !wasInterrupted: self.answer(ChatLines.notice("Ctrl-D or /quit leaves"))
        case .interrupt, .endOfInput: beginEnd()
        case .suspend:
            keyboard.isStopped = true
            emit(.suspend)
        case .redraw: emit(.clearScreen)
        case .refused: emit(.bell)
        case .full: self.answer(ChatLines.full())
        }
    }

    /// Reports an edit to the node before the screen is drawn, because drawing takes much longer than the report.
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

    /// The texts for the completion by Tab.
    private var candidates: Completion.Candidates {
        Completion.Candidates(
            people: open?.labels.all.map(\.text) ?? [], chats: states.map(\.chat.name),
            muted: mutedPeople.map(\.label.text), folded: open?.foldedLabels.map(\.text) ?? [])
    }

    /// Processes an entered line.
    ///
    /// - Parameter isEchoed: whether the terminal edits its lines itself, so that the node has no draft to clear.
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

    /// Reports the new text of the input field.
    mutating func compose(_ text: String) {
        guard let open, display.sendsTyping else { return }
        ask(.compose(text, chat: open.chat.name))
    }

    private mutating func send(_ text: String) {
        guard let index = openIndex else {
            return show([ChatLines.error("You are not in a chat. Join one: /join NAME")])
        }
        guard !keepUnsent(text) else { return }
        let chat = states[index].chat.name
        guard !states[index].isSettling(at: moment.steady) else {
            ask(.compose("", chat: chat))
            return show(states[index].wait(text, isShown: display.showsOwn))
        }
        ask(.send(text, chat: chat), for: .send(isShown: false))
    }

    mutating func sendWaiting(in index: Int) {
        for text in states[index].drainWaiting() {
            ask(.send(text, chat: states[index].chat.name), for: .send(isShown: display.showsOwn))
        }
    }

    /// Receives the answer to a sent message.
    ///
    /// - Parameter wasShown: whether a line has shown the message while it waited.
    mutating func receive(_ answer: ServiceAnswer, toSending text: String, in chat: String, wasShown: Bool) {
        guard let index = index(of: chat) else { return }
        let lines: [Line]
        switch answer {
        case .sent(let number, let recipients):
            lines = states[index].record(
                sent: text, number: number, recipients: recipients, isShown: display.showsOwn && !wasShown,
                wasShown: wasShown, at: moment.steady, time: localTime)
        case .failed(let error):
            ask(.compose("", chat: chat))
            states[index].keepUnsent(text)
            lines = [ChatLines.error(texts.error(error))]
        default: return
        }
        if leaving[chat] != nil {
            leaving[chat]? += lines
        } else {
            show(shown(lines, in: index))
        }
    }
}
