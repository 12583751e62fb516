/// The menu of the icon, by the protocol DBusMenu.
final class TrayMenu {
    static let path = "/MenuBar"
    static let interface = "com.canonical.dbusmenu"

    /// A choice of the user in the menu.
    enum Choice: Equatable {
        case page
        case chat(String)
        case away
        case back
        case quit
    }

    private struct Item: Equatable {
        let number: Int32
        /// Nil for a line between others.
        let label: String?
        var choice: Choice?

        var properties: [(String, BusValue)] {
            guard let label else { return [("type", .string("separator"))] }
            return [("label", .string(DesktopText.label(label)))]
        }
    }

    /// The most chats in the menu, as many as a node can be in.
    private static let mostChats = 32

    private let bus: Bus
    private var items: [Item] = []
    private var revision: UInt32 = 1
    /// The number of each chat that the menu has shown, which no other chat gets.
    private var numbers: [String: Int32] = [:]
    private var nextNumber: Int32 = 100

    init(_ bus: Bus) {
        self.bus = bus
        items = items(for: TrayState())
    }

    func show(_ state: TrayState) {
        let new = items(for: state)
        guard new != items else { return }
        items = new
        revision += 1
        bus.emit(Self.path, Self.interface, "LayoutUpdated", [.uint32(revision), .int32(0)])
    }

    private func items(for state: TrayState) -> [Item] {
        guard state.presence != .noDaemon else {
            return [Item(number: 1, label: "Start Inkling", choice: .page), Item(number: 2, label: nil), Self.quit]
        }
        var items = [Item(number: 1, label: "Open", choice: .page), Item(number: 2, label: nil)]
        for chat in state.chats.prefix(Self.mostChats) {
            let count = chat.unread == 0 ? "" : " (\(chat.unread))"
            items.append(
                Item(
                    number: number(of: chat.name), label: DesktopText.isolated(chat.name) + count,
                    choice: .chat(chat.name)))
        }
        if !state.chats.isEmpty { items.append(Item(number: 3, label: nil)) }
        let isAway = state.presence == .away
        items.append(Item(number: isAway ? 5 : 4, label: isAway ? "Back" : "Away", choice: isAway ? .back : .away))
        return items + [Self.quit]
    }

    private static let quit = Item(number: 6, label: "Quit", choice: .quit)

    private func number(of chat: String) -> Int32 {
        if let number = numbers[chat] { return number }
        defer { nextNumber += 1 }
        numbers[chat] = nextNumber
        return nextNumber
    }

    var properties: [(String, BusValue)] {
        [
            ("Version", .uint32(3)), ("TextDirection", .string("ltr")), ("Status", .string("normal")),
            ("IconThemePath", .strings([])),
        ]
    }

    /// Answers a call.
    ///
    /// - Parameters:
    ///   - chosen: Called with each choice of the user.
    ///   - opening: Called when the menu opens.
    func receive(_ call: Bus.Incoming, chosen: (Choice) -> Void, opening: () -> Void) {
        let arguments = call.arguments
        switch call.member {
        case "GetLayout":
            guard let parent = arguments.first?.number, let layout = layout(of: parent) else { return refuse(call) }
            bus.answer(call, [.uint32(revision), layout])
        case "GetGroupProperties":
            let wanted = arguments.first?.elements?.compactMap { $0.number } ?? []
            let items = items.filter { wanted.isEmpty || wanted.contains(Int($0.number)) }
            bus.answer(
                call,
                [
                    .array(
                        "(ia{sv})", items.map { .structure([.int32($0.number), .table($0.properties)]) })
                ])
        case "GetProperty":
            guard arguments.count == 2, let item = item(arguments[0].number),
                let value = item.properties.first(where: { $0.0 == arguments[1].text })?.1
            else { return refuse(call) }
            bus.answer(call, [.variant(value)])
        case "Event":
            bus.answer(call, [])
            receive(event: arguments, chosen)
        case "EventGroup":
            bus.answer(call, [.array("i", [])])
            for event in arguments.first?.elements ?? [] { receive(event: event.elements ?? [], chosen) }
        case "AboutToShow":
            opening()
            bus.answer(call, [.boolean(false)])
        case "AboutToShowGroup":
            opening()
            bus.answer(call, [.array("i", []), .array("i", [])])
        default: bus.refuse(call, "UnknownMethod", "There is no such method.")
        }
    }

    private func refuse(_ call: Bus.Incoming) { bus.refuse(call, "InvalidArgs", "There is no such item.") }

    private func item(_ number: Int?) -> Item? { items.first { Int($0.number) == number } }

    private func receive(event: [BusValue], _ chosen: (Choice) -> Void) {
        guard event.count >= 2, event[1].text == "clicked", let choice = item(event[0].number)?.choice else { return }
        chosen(choice)
    }

    /// The layout of the menu, or of one item; nil for an unknown number.
    private func layout(of parent: Int) -> BusValue? {
        guard parent != 0 else {
            return Self.layout(
                0, [("children-display", .string("submenu"))],
                items.map { .variant(Self.layout($0.number, $0.properties, [])) })
        }
        return item(parent).map { Self.layout($0.number, $0.properties, []) }
    }

    private static func layout(_ number: Int32, _ properties: [(String, BusValue)], _ children: [BusValue]) -> BusValue
    {
        .structure([.int32(number), .table(properties), .array("v", children)])
    }

    static let description = """
        <interface name="com.canonical.dbusmenu">
        <method name="GetLayout"><arg type="i" direction="in"/><arg type="i" direction="in"/>
        <arg type="as" direction="in"/><arg type="u" direction="out"/><arg type="(ia{sv}av)" direction="out"/></method>
        <method name="GetGroupProperties"><arg type="ai" direction="in"/><arg type="as" direction="in"/>
        <arg type="a(ia{sv})" direction="out"/></method>
        <method name="GetProperty"><arg type="i" direction="in"/><arg type="s" direction="in"/>
        <arg type="v" direction="out"/></method>
        <method name="Event"><arg type="i" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="in"/>
        <arg type="u" direction="in"/></method>
        <method name="EventGroup"><arg type="a(isvu)" direction="in"/><arg type="ai" direction="out"/></method>
        <method name="AboutToShow"><arg type="i" direction="in"/><arg type="b" direction="out"/></method>
        <method name="AboutToShowGroup"><arg type="ai" direction="in"/><arg type="ai" direction="out"/>
        <arg type="ai" direction="out"/></method>
        <signal name="LayoutUpdated"><arg type="u"/><arg type="i"/></signal>
        <property name="Version" type="u" access="read"/><property name="TextDirection" type="s" access="read"/>
        <property name="Status" type="s" access="read"/><property name="IconThemePath" type="as" access="read"/>
        </interface>
        """
}
