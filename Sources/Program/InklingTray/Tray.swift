import CDesktop

/// The front end of the desktop. Lines of the daemon become the icon, its menu and notifications. Acts of the user become
/// requests.
final class Tray {
    /// A message that may need a notification.
    private struct Message {
        let number: Int
        let user: String
        /// The name, as sent.
        let name: String
        let text: String
    }

    /// The notifications of one chat.
    private struct Chat {
        /// The latest message that the daemon has not yet said to be unread.
        var latest: Message?
        /// Whether a question about it is on the way.
        var isAsking = false
        /// When the last notification was shown.
        var shownAt: Int64?
    }

    /// The shortest time between two notifications of a chat, in milliseconds.
    private static let interval: Int64 = 2_000
    /// The most messages that can follow the latest one before the daemon answers.
    private static let lastMessages = 5
    /// The first and the longest wait before the next question about what is unread, in milliseconds. No event says that
    /// a message was read elsewhere. While nothing is unread, no question is asked.
    private static let (firstPoll, longestPoll): (Int64, Int64) = (1_000, 30_000)
    /// The most replies whose outcome is awaited.
    private static let mostReplies = 64

    private let options: Options
    private let bus: Bus
    private let item: StatusItem
    private let menu: TrayMenu
    private let notifications: Notifications
    private var link: DaemonLink?
    private var programs = StartedPrograms()
    private var state = TrayState()
    private var ownName = ""
    private var chats: [String: Chat] = [:]
    /// The chats of replies without an outcome, by the number of the message.
    private var replies: [Int: String] = [:]
    private var isRefreshing = false
    private var pollAt: Int64?
    private var poll = firstPoll

    init(_ options: Options, _ bus: Bus, name: String) {
        self.options = options
        self.bus = bus
        item = StatusItem(bus, name: name, report: report)
        menu = TrayMenu(bus)
        notifications = Notifications(bus, report: report)
    }

    /// Runs until the user quits, or the session ends.
    func run() -> Int32 {
        for (name, interface) in [(StatusItem.watcher, Bus.name), (Notifications.name, Bus.name)] {
            bus.match(
                "type='signal',sender='\(Bus.name)',interface='\(interface)',member='NameOwnerChanged',arg0='\(name)'")
        }
        bus.match("type='signal',sender='\(Notifications.name)',interface='\(Notifications.name)'")
        bus.call(Bus.name, "/org/freedesktop/DBus", Bus.name, "GetNameOwner", [.string(Notifications.name)]) {
            [notifications] answer in
            if case .values(let values) = answer { notifications.owner = values.first?.text }
        }
        item.register()
        let link = DaemonLink(StatePlaces(given: options.stateDirectory), report: report) { [self] in receive($0) }
        self.link = link
        link.start()
        var end: Int32?
        while end == nil {
            bus.process { event in
                switch event {
                case .closed: end = end ?? 0
                case .signal(let signal): receive(signal: signal)
                case .call(let call): if receive(call: call) { end = 0 }
                }
            }
            guard end == nil else { break }
            wait(for: link)
        }
        return end ?? 0
    }

    /// Sleeps until something happens.
    private func wait(for link: DaemonLink) {
        let now = Clock.now
        let deadline = [link.deadline, pollAt, nextNotification].compactMap { $0 }.min()
        var places = [pollfd(fd: bus.descriptor, events: Int16(POLLIN | (bus.hasOutput ? POLLOUT : 0)), revents: 0)]
        if let (descriptor, hasOutput) = link.descriptor {
            places.append(pollfd(fd: descriptor, events: Int16(POLLIN | (hasOutput ? POLLOUT : 0)), revents: 0))
        }
        let linkIsThere = places.count > 1
        places += programs.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let wait = deadline.map { Int32(clamping: max($0 - now, 0)) } ?? -1
        guard desktop_wait(&places, Int32(places.count), wait) >= 0 else { return }
        if linkIsThere, places[1].revents != 0 { link.process() }
        if places.dropFirst(linkIsThere ? 2 : 1).contains(where: { $0.revents != 0 }) { reportEnded() }
        link.tick()
        if let pollAt, pollAt <= Clock.now {
            self.pollAt = nil
            poll = min(poll * 2, Self.longestPoll)
            refresh()
        }
        for name in chats.keys.sorted() { ask(about: name) }
    }

    /// When the next notification may be shown; nil if none waits.
    private var nextNotification: Int64? {
        chats.values.compactMap { chat in
            chat.latest != nil && !chat.isAsking ? (chat.shownAt ?? 0) + Self.interval : nil
        }.min()
    }

    // MARK: The daemon

    private func receive(_ event: DaemonLink.Event) {
        switch event {
        case .attached(let ready):
            ownName = ready["name"]?.text ?? ""
            state.presence = .online
            link?.ask([("do", .text("subscribe")), ("events", .texts(["message", "notice"]))])
            refresh()
        case .detached:
            state = TrayState()
            for chat in chats.keys { notifications.withdraw(chat: chat) }
            (chats, replies, isRefreshing, pollAt) = ([:], [:], false, nil)
            show()
        case .line(let kind, let line): receive(kind, line)
        }
    }

    private func receive(_ kind: String, _ line: JSONMembers) {
        switch kind {
        case "message": receive(message: line)
        case "missed": refresh(soon: true)
        case "self":
            ownName = line["name"]?.text ?? ownName
            state.presence = line["away"]?.isTrue == true ? .away : .online
            show()
        case "notice": receive(notice: line)
        case "delivered": if let number = line["message"]?.integer { replies[number] = nil }
        case "failed":
            guard let number = line["message"]?.integer, let chat = replies.removeValue(forKey: number) else { return }
            tell(
                "Your reply in \(DesktopText.isolated(chat)) may not have arrived",
                "Open the chat to see whom it missed.")
        default: break
        }
    }

    private func receive(message line: JSONMembers) {
        guard line["own"] == nil, let chat = line["chat"]?.text, let number = line["message"]?.integer,
            let from = line["from"]?.object, let user = from["user"]?.text
        else { return }
        chats[chat, default: Chat()].latest = Message(
            number: number, user: user, name: from["name"]?.text ?? "", text: line["text"]?.text ?? "")
        refresh(soon: true)
        ask(about: chat)
    }

    private func receive(notice line: JSONMembers) {
        switch line["code"]?.text {
        case "invited":
            let name = Labels.suffixed(line["name"]?.text ?? "", user: line["user"]?.text ?? "")
            let isVerified = line["verified"]?.isTrue == true
            notifications.show(
                Notifications.Notification(
                    title: "Invitation",
                    sender: isVerified
                        ? (SafeText.name(line["name"]?.text ?? "") ?? "Someone") + " " + Labels.verifiedMark : name,
                    text: line["to"] == nil ? " wants to talk with you alone." : " invites you to a private chat."))
        // The list of chats may have changed.
        case "moved", "moved-apart": refresh(soon: true)
        default: break
        }
    }

    /// Asks for the chats and what is unread there.
    ///
    /// - Parameter soon: Whether what is unread changes now, so that the next question comes soon.
    private func refresh(soon: Bool = false) {
        if soon { (poll, pollAt) = (Self.firstPoll, pollAt.map { min($0, Clock.now + Self.firstPoll) }) }
        guard !isRefreshing, let link, link.isAttached else { return }
        isRefreshing = true
        link.ask([("do", .text("chats"))]) { [self] answer in
            isRefreshing = false
            state.chats = (answer["chats"]?.objects ?? []).compactMap { chat in
                chat["chat"]?.text.map {
                    TrayState.Chat(
                        name: $0, isPrivate: !(chat["secret"] == .boolean(false)), unread: chat["unread"]?.integer ?? 0)
                }
            }
            for name in chats.keys where state.unread(in: name) == 0 {
                notifications.withdraw(chat: name)
                if chats[name]?.latest == nil, !state.chats.contains(where: { $0.name == name }) { chats[name] = nil }
            }
            pollAt = state.unread > 0 ? Clock.now + poll : nil
            show()
        }
    }

    /// Asks whether the latest message of a chat is unread: the daemon says so of a message only in its list.
    private func ask(about name: String) {
        guard let chat = chats[name], let message = chat.latest, !chat.isAsking, let link, link.isAttached,
            (chat.shownAt ?? .min / 2) + Self.interval <= Clock.now
        else { return }
        chats[name]?.isAsking = true
        link.ask([("do", .text("messages")), ("chat", .text(name)), ("count", .number(Self.lastMessages))]) {
            [self] answer in
            let found = answer["messages"]?.objects.contains {
                $0["message"]?.integer == message.number && $0["unread"]?.isTrue == true
            }
            guard found == true else { return settle(message, in: name) }
            // The label depends on the other people of the chat, such as one of the same name.
            link.ask([("do", .text("who")), ("chat", .text(name))]) { [self] answer in
                notify(message, in: name, sender: label(of: message, among: answer["peers"]?.objects ?? []))
            }
        }
    }

    /// A question about a message is answered.
    private func settle(_ message: Message, in chat: String) {
        chats[chat]?.isAsking = false
        if chats[chat]?.latest?.number == message.number { chats[chat]?.latest = nil }
    }

    private func label(of message: Message, among peers: [JSONMembers]) -> String {
        var labels = Labels(ownName: ownName)
        // A sender who has left is not among them.
        labels.update(Labels.Person(user: message.user, name: message.name))
        for peer in peers {
            guard let user = peer["user"]?.text, let name = peer["name"]?.text else { continue }
            labels.update(
                Labels.Person(
                    user: user, name: name, acquaintance: peer["namesakes"] == nil ? .known : .changedKey,
                    isVerified: peer["verified"]?.isTrue == true))
        }
        return labels.label(of: message.user).marked
    }

    private func notify(_ message: Message, in chat: String, sender: String) {
        settle(message, in: chat)
        chats[chat]?.shownAt = Clock.now
        let shown = state.chats.first { $0.name == chat }
        // Without word from the daemon, a chat counts as private.
        let hasText = shown?.isPrivate == false || options.showsTexts
        let unread = shown?.unread ?? 0
        notifications.show(
            Notifications.Notification(
                title: DesktopText.name(chat), sender: sender,
                text: (hasText ? DesktopText.said(message.text) : " wrote to you.")
                    + (unread > 1 ? "\n(\(TrayState.count(unread)))" : ""), chat: chat))
    }

    // MARK: The user

    private func receive(signal: Bus.Incoming) {
        if signal.interface == Bus.name, signal.member == "NameOwnerChanged", signal.sender == Bus.name {
            let owner = signal.arguments.count == 3 ? signal.arguments[2].text ?? "" : ""
            switch signal.arguments.first?.text {
            case StatusItem.watcher: if !owner.isEmpty { item.register() }
            case Notifications.name: notifications.changed(owner: owner.isEmpty ? nil : owner)
            default: break
            }
        } else if signal.interface == Notifications.name, let choice = notifications.receive(signal) {
            switch choice {
            case .page: openPage()
            case .reply(let text, let chat): reply(text, in: chat)
            }
        }
    }

    /// Answers a call. Returns whether the user quits.
    private func receive(call: Bus.Incoming) -> Bool {
        var isOver = false
        switch (call.interface, call.path) {
        case ("org.freedesktop.DBus.Properties", _): answer(properties: call)
        case ("org.freedesktop.DBus.Introspectable", let path):
            let description =
                path == StatusItem.path ? StatusItem.description : path == TrayMenu.path ? TrayMenu.description : ""
            bus.answer(call, [.string("<node>\(description)</node>")])
        case (TrayMenu.interface, TrayMenu.path):
            menu.receive(call, chosen: { if perform($0) { isOver = true } }, opening: { refresh(soon: true) })
        case (StatusItem.interface, StatusItem.path): if item.receive(call) { openPage() }
        default: bus.refuse(call, "UnknownMethod", "There is no such method.")
        }
        return isOver
    }

    private func answer(properties call: Bus.Incoming) {
        let all: [(String, BusValue)] =
            switch call.path {
            case StatusItem.path: item.properties
            case TrayMenu.path: menu.properties
            default: []
            }
        switch call.member {
        case "GetAll": bus.answer(call, [.table(all)])
        case "Get":
            let name = call.arguments.count == 2 ? call.arguments[1].text : nil
            guard let value = all.first(where: { $0.0 == name })?.1 else {
                return bus.refuse(call, "UnknownProperty", "There is no such property.")
            }
            bus.answer(call, [.variant(value)])
        default: bus.refuse(call, "PropertyReadOnly", "The properties can only be read.")
        }
    }

    /// Does what the user chose. Returns whether the user quits.
    private func perform(_ choice: TrayMenu.Choice) -> Bool {
        switch choice {
        case .page, .chat: openPage()
        case .away: link?.ask([("do", .text("away"))])
        case .back: link?.ask([("do", .text("back"))])
        case .quit:
            notifications.withdrawAll()
            bus.flush()
            return true
        }
        return false
    }

    private func reply(_ text: String, in chat: String) {
        guard !text.isEmpty else { return }
        let title = "Your reply in \(DesktopText.isolated(chat)) was not sent"
        // As at every other place to write, one slash begins a command, and two a text.
        guard !text.hasPrefix("/") || text.hasPrefix("//") || DesktopText.deed(of: text) != nil else {
            return tell(title, "Commands work at the prompt alone. To begin a message with a slash, type two.")
        }
        guard let link, link.isAttached else { return tell(title, "Inkling is not running. Open it, and write again.") }
        let message = text.hasPrefix("//") ? String(text.dropFirst()) : text
        link.ask([("do", .text("send")), ("chat", .text(chat)), ("text", .text(message))]) { [self] answer in
            guard answer["on"]?.text == "sent", let number = answer["message"]?.integer else {
                return tell(title, DesktopText.message(answer["text"]?.text ?? "Open the chat, and write again."))
            }
            guard answer["to"]?.integer != 0 else {
                return tell(title, "Nobody is there now. Open the chat to send it again later.")
            }
            if replies.count < Self.mostReplies { replies[number] = chat }
        }
    }

    /// Opens the page, which starts a daemon if none runs.
    private func openPage() {
        let arguments = ["inkling", "web"] + (options.stateDirectory.map { ["--state-dir", $0] } ?? [])
        if let fault = programs.start(options.program, arguments) {
            return tell("Inkling can't be opened", "\(DesktopText.name(options.program)): \(fault).")
        }
        link?.expect()
    }

    private func reportEnded() {
        for status in programs.reap() where status != 0 {
            tell("Inkling can't be opened", "To see why, run this in a terminal: inkling web")
        }
    }

    /// Shows a notification of the program itself.
    private func tell(_ title: String, _ text: String) {
        notifications.show(Notifications.Notification(title: title, text: text))
    }

    private func show() {
        item.show(state)
        menu.show(state)
    }
}
