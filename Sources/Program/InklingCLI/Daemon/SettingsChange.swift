import InklingModel

/// What a daemon that runs does about a settings file that was changed.
package struct SettingsChange: Equatable {
    /// The name to take; nil to keep the one that it has.
    package let name: String?
    package let messageHook: [String]
    package let goesAwayAlone: Bool
    /// The settings that hold from the next start on, by their full names.
    package let needingRestart: [String]

    /// - Parameters:
    ///   - started: the settings that the daemon was started with.
    ///   - present: those that the file has now.
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

    /// What is to be done for the settings that hold from the next start on; nil if there are none.
    ///
    /// - Parameters:
    ///   - isService: whether a service manager runs the daemon.
    ///   - process: the ID of its process.
    ///   - options: those that it was started with, each with a blank before it.
    package func advice(isService: Bool, process: Int32, options: String) -> String? {
        guard !needingRestart.isEmpty else { return nil }
        let command =
            isService
            ? "systemctl --user restart inkling.service" : "kill \(process), and then inkling daemon\(options)"
        let verb = needingRestart.count == 1 ? "takes" : "take"
        return "\(needingRestart.joined(separator: ", ")) \(verb) effect when the daemon is started again: \(command)"
    }
}
