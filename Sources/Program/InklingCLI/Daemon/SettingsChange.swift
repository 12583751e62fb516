import InklingModel

/// The effects of a changed settings file on a running daemon.
package struct SettingsChange: Equatable {
    /// The new name; nil to keep the current one.
    package let name: String?
    package let messageHook: [String]
    package let goesAwayAlone: Bool
    /// The settings that take effect at the next start, by their full names.
    package let needingRestart: [String]

    /// Compares two versions of the settings.
    ///
    /// - Parameters:
    ///   - started: the settings at the daemon's start.
    ///   - present: the settings in the file now.
    ///   - isNamed: whether an option names the user.
    ///   - choosesInterfaces: whether options choose the interfaces.
    package init(from started: SettingsFile, to present: SettingsFile, isNamed: Bool, choosesInterfaces: Bool) {
        name = isNamed ? nil : present.name.map { NormalForm.canonical($0) }
        messageHook = present.messageHook ?? []
        goesAwayAlone = present.goesAwayAlone ?? true
        let fixed: [(String, Bool)] = [
            ("interfaces.use", !choosesInterfaces && started.interfaces ?? [] != present.interfaces ?? []),
            (
                "interfaces.leave-out",
                !choosesInterfaces && started.excludedInterfaces ?? [] != present.excludedInterfaces ?? []
            ), ("privacy.send-typing", started.sendsTyping ?? true != present.sendsTyping ?? true),
            ("privacy.show-typing", started.showsTyping ?? true != present.showsTyping ?? true),
        ]
        needingRestart = fixed.filter(\.1).map(\.0)
    }

    /// Returns the advice for settings that take effect at the next start; nil if none changed.
    ///
    /// - Parameters:
    ///   - isService: whether a service manager runs the daemon.
    ///   - process: the ID of its process.
    ///   - options: the options at the daemon's start, each with a blank before it.
    package func advice(isService: Bool, process: Int32, options: String) -> String? {
        guard !needingRestart.isEmpty else { return nil }
        let command =
            isService
            ? "systemctl --user restart inkling.service" : "kill \(process), and then inkling daemon\(options)"
        let verb = needingRestart.count == 1 ? "takes" : "take"
        return "\(needingRestart.joined(separator: ", ")) \(verb) effect when the daemon is started again: \(command)"
    }
}
