/// The notifications of the desktop, by the interface `org.freedesktop.Notifications`.
final class Notifications {
    static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    /// An act of the user at a notification.
    enum Choice {
        case page(chat: String?)
        case reply(String, chat: String)
    }

    struct Notification {
        var title: String
        /// The sender, made safe; nil if the text is the program's own.
        var sender: String?
        var text: String
        /// The chat to which the user can reply.
        var chat: String?
    }

    private enum Server {
        case unknown
        /// The server was asked for its capabilities, and these notifications wait for the answer.
        case asked([Notification])
        case known(Set<String>)
    }

    /// The most notifications whose buttons work, and the most that wait for the server.
    private static let (mostShown, mostWaiting) = (64, 8)

    private let bus: Bus
    private let report: (String) -> Void
    private var server = Server.unknown
    private var hasReported = false
    /// The chats of notifications, in the order of showing. One that was closed can still bring a reply.
    private var shown: [(number: UInt32, chat: String?)] = []
    /// The open notification of each chat, which the next one replaces.
    private var open: [String: UInt32] = [:]
    /// The chats whose notification is not wanted any more, but has no number yet.
    private var cancelled: Set<String> = []
    /// The owner of the server's name. Signals of other programs don't count.
    var owner: String?

    init(_ bus: Bus, report: @escaping (String) -> Void) {
        self.bus = bus
        self.report = report
    }

    /// Another server has the name, or none.
    func changed(owner: String?) {
        self.owner = owner
        (shown, open) = ([], [:])
        // A server that this program's question started answers it.
        if case .known = server { server = .unknown }
    }

    func show(_ notification: Notification) {
        if let chat = notification.chat { cancelled.remove(chat) }
        switch server {
        case .known(let abilities): send(notification, abilities)
        case .asked(let waiting):
            if waiting.count < Self.mostWaiting { server = .asked(waiting + [notification]) }
        case .unknown:
            server = .asked([notification])
            // The call starts a server that the system can start.
            bus.call(Self.name, Self.path, Self.name, "GetCapabilities") { [self] in receive(abilities: $0) }
        }
    }

    private func receive(abilities answer: Bus.Answer) {
        guard case .asked(let waiting) = server else { return }
        guard case .values(let values) = answer else {
            server = .unknown
            if !hasReported { report("no program of this session shows notifications") }
            hasReported = true
            return
        }
        let abilities = Set(values.first?.texts ?? [])
        server = .known(abilities)
        for notification in waiting { send(notification, abilities) }
    }

    private func send(_ notification: Notification, _ abilities: Set<String>) {
        let chat = notification.chat
        var body = notification.text
        if let sender = notification.sender { body = NameIsolation.isolated(sender) + body }
        if abilities.contains("body-markup") { body = DesktopText.escaped(body) }
        var actions: [String] = []
        var hints: [(String, BusValue)] = [
            ("desktop-entry", .string("inkling")), ("category", .string("im.received")), ("urgency", .byte(1)),
        ]
        if abilities.contains("actions") {
            // Some servers show the default action as a button, and all take a click for it.
            actions = ["default", "Open"]
            if chat != nil, abilities.contains("inline-reply") {
                actions += ["inline-reply", "Reply"]
                hints.append(("x-kde-reply-submit-button-text", .string("Send")))
            }
        }
        let replaced = chat.flatMap { open[$0] } ?? 0
        bus.call(
            Self.name, Self.path, Self.name, "Notify",
            [
                .string("Inkling"), .uint32(replaced), .string("inkling"), .string(notification.title), .string(body),
                .strings(actions), .table(hints), .int32(-1),
            ]
        ) { [self] answer in
            guard case .values(let values) = answer, case .uint32(let number)? = values.first else { return }
            if let chat, cancelled.remove(chat) != nil { return close(number) }
            if let chat { open[chat] = number }
            shown.removeAll { $0.number == number }
            shown.append((number, chat))
            if shown.count > Self.mostShown { shown.removeFirst() }
        }
    }

    /// Removes the notification of a chat that has nothing unread any more.
    func withdraw(chat: String) {
        if let number = open.removeValue(forKey: chat) {
            close(number)
        } else if case .known = server {
            // A notification may be on the way.
            cancelled.insert(chat)
        } else if case .asked(let waiting) = server {
            server = .asked(waiting.filter { $0.chat != chat })
        }
    }

    /// Removes all notifications: their buttons don't work after the program's end.
    func withdrawAll() {
        for (number, _) in shown { close(number) }
    }

    private func close(_ number: UInt32) {
        bus.call(Self.name, Self.path, Self.name, "CloseNotification", [.uint32(number)])
    }

    /// Receives a signal of the server, and returns what the user did.
    func receive(_ signal: Bus.Incoming) -> Choice? {
        guard signal.sender == owner, case .uint32(let number)? = signal.arguments.first,
            let notification = shown.last(where: { $0.number == number })
        else { return nil }
        let second = signal.arguments.count > 1 ? signal.arguments[1].text : nil
        switch (signal.member, second) {
        case ("NotificationReplied", let text?): return notification.chat.map { .reply(text, chat: $0) }
        case ("ActionInvoked", "default"?): return .page(chat: notification.chat)
        case ("NotificationClosed", _):
            if let chat = notification.chat, open[chat] == number { open[chat] = nil }
        default: break
        }
        return nil
    }
}
