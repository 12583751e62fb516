/// The icon in the panel, by the protocol StatusNotifierItem.
final class StatusItem {
    static let path = "/StatusNotifierItem"
    static let interface = "org.kde.StatusNotifierItem"
    static let watcher = "org.kde.StatusNotifierWatcher"

    private let bus: Bus
    /// The name on the bus with which the icon registers.
    private let name: String
    private let report: (String) -> Void
    private var state = TrayState()
    private var hasReported = false

    /// - Parameter report: Called with a line for standard error.
    init(_ bus: Bus, name: String, report: @escaping (String) -> Void) {
        self.bus = bus
        self.name = name
        self.report = report
    }

    /// Registers at the watcher, which tells the panels.
    func register() {
        bus.call(
            Self.watcher, "/StatusNotifierWatcher", Self.watcher, "RegisterStatusNotifierItem", [.string(name)]
        ) { [self] answer in
            guard case .error = answer, !hasReported else { return }
            hasReported = true
            report("no panel of this session shows icons; notifications work, and the icon appears when a panel starts")
        }
    }

    func show(_ new: TrayState) {
        guard new != state else { return }
        let old = state
        state = new
        guard new.words != old.words else { return }
        for signal in ["NewIcon", "NewAttentionIcon", "NewToolTip", "NewTitle"] {
            bus.emit(Self.path, Self.interface, signal)
        }
        if status(of: new) != status(of: old) {
            bus.emit(Self.path, Self.interface, "NewStatus", [.string(status(of: new))])
        }
    }

    private func status(of state: TrayState) -> String { state.unread > 0 ? "NeedsAttention" : "Active" }

    var properties: [(String, BusValue)] {
        // A theme has the icon of the usual state alone. Without a name, panels show the picture.
        let isUsual = state.presence == .online && state.unread == 0
        let picture = IconPicture.pictures(of: state)
        let noPicture = BusValue.array("(iiay)", [])
        return [
            ("Category", .string("Communications")), ("Id", .string("inkling")), ("Title", .string(state.words)),
            ("Status", .string(status(of: state))), ("WindowId", .int32(0)),
            ("IconName", .string(isUsual ? "inkling" : "")), ("IconPixmap", picture), ("IconThemePath", .string("")),
            ("OverlayIconName", .string("")), ("OverlayIconPixmap", noPicture),
            ("AttentionIconName", .string("")), ("AttentionIconPixmap", state.unread > 0 ? picture : noPicture),
            ("AttentionMovieName", .string("")),
            ("ToolTip", .structure([.string(""), noPicture, .string(state.words), .string("")])),
            ("ItemIsMenu", .boolean(false)), ("Menu", .path(TrayMenu.path)),
        ]
    }

    /// Answers a call. Returns whether the user wants the page.
    func receive(_ call: Bus.Incoming) -> Bool {
        switch call.member {
        case "Activate", "SecondaryActivate":
            bus.answer(call, [])
            return true
        // The panel shows the menu by itself.
        case "ContextMenu", "Scroll", "ProvideXdgActivationToken": bus.answer(call, [])
        default: bus.refuse(call, "UnknownMethod", "There is no such method.")
        }
        return false
    }

    static let description = """
        <interface name="org.kde.StatusNotifierItem">
        <method name="Activate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="SecondaryActivate"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="ContextMenu"><arg type="i" direction="in"/><arg type="i" direction="in"/></method>
        <method name="Scroll"><arg type="i" direction="in"/><arg type="s" direction="in"/></method>
        <signal name="NewTitle"/><signal name="NewIcon"/><signal name="NewAttentionIcon"/><signal name="NewToolTip"/>
        <signal name="NewStatus"><arg type="s"/></signal>
        <property name="Category" type="s" access="read"/><property name="Id" type="s" access="read"/>
        <property name="Title" type="s" access="read"/><property name="Status" type="s" access="read"/>
        <property name="WindowId" type="i" access="read"/><property name="IconName" type="s" access="read"/>
        <property name="IconPixmap" type="a(iiay)" access="read"/>
        <property name="IconThemePath" type="s" access="read"/>
        <property name="OverlayIconName" type="s" access="read"/>
        <property name="OverlayIconPixmap" type="a(iiay)" access="read"/>
        <property name="AttentionIconName" type="s" access="read"/>
        <property name="AttentionIconPixmap" type="a(iiay)" access="read"/>
        <property name="AttentionMovieName" type="s" access="read"/>
        <property name="ToolTip" type="(sa(iiay)ss)" access="read"/>
        <property name="ItemIsMenu" type="b" access="read"/><property name="Menu" type="o" access="read"/>
        </interface>
        """
}
