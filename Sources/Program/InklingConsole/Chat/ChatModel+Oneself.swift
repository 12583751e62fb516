import InklingModel
import InklingText

/// The commands about the user: name, presence, undelivered messages, and invites.
extension ChatModel {
    mutating func setAway(_ isAway: Bool) {
        guard self.isAway != isAway else {
            return answer(
                ChatLines.notice(isAway ? "You are already away. To return: /back" : "You are not away"))
        }
        self.isAway = isAway
        ask(.setAway(isAway))
        answer(
            ChatLines.notice(
                isAway ? "Others see that you are away; messages still reach you. To return: /back" : "You are back"))
    }

    mutating func changeName(_ text: String, isOnce: Bool) {
        let name = NormalForm.canonical(text)
        guard name != identity.name else {
            if !isOnce { emit(.keep(.name(name))) }
            return answer(ChatLines.notice("That is your name already: others see you as \(ChatLines.shown(name))"))
        }
        if let fault = NameFault(ofOwnName: name) {
            return answer(ChatLines.error(SafeText.line(NodeError.name(fault).fact) + " Choose another: /nick NAME"))
        }
        ask(.rename(name), for: .rename(isOnce: isOnce))
    }

    mutating func renamed(_ name: String) {
        rename(name)
        answer(ChatLines.notice("Others see you as \(ChatLines.shown(name)) from now on"))
    }

    /// Makes the terminal ring at the user's name, or no longer. With nil, shows the setting.
    mutating func notify(_ isOn: Bool?) {
        guard display.form != .pipe else { return }
        if let isOn {
            display.ringsForMentions = isOn
            emit(.keep(.bell(isOn)))
        }
        let rings = display.ringsForMentions
        answer(
            ChatLines.notice(
                rings
                    ? "The terminal rings when somebody says your name. To change that: /notify off"
                    : "The terminal does not ring. To have it ring at your name: /notify on"))
    }

    /// Sends the messages of a chat that failed or reached nobody again.
    mutating func resend(in index: Int) {
        guard !isDetached else { return refuse(.knownPeers) }
        guard states[index].hasUnsent else {
            return answer(ChatLines.notice("There is nothing to send again: no message of this chat has failed"))
        }
        guard states[index].anybodyOnline else {
            return answer(ChatLines.error("Nobody is here. Your messages are kept for another /resend"))
        }
        let chat = states[index].chat.name
        for text in states[index].drainUnsent() { ask(.send(text, chat: chat), for: .send(isShown: false)) }
    }

    // MARK: Invites

    func invite(_ chat: Chat) -> [Line] {
        guard chat.partner == nil else {
            return [ChatLines.error("A talk is for two. For more people make a private chat: /invite NAME")]
        }
        guard let invite = chat.invite else {
            let command = "inkling chat" + ShellQuoting.argument(chat.name)
            return [
                ChatLines.notice(
                    "\(chat.name) is open: anybody on this network can join with \(command). For a private chat: "
                        + "/invite NAME")
            ]
        }
        var line = Line(invite)
        line.isUnbroken = true
        return [
            ChatLines.notice("Anyone with this invite can join and read; pass it on through a channel you trust:"),
            line,
        ]
    }
}
