import InklingCLI
import Testing

@Suite("Settings that change while a daemon runs")
struct SettingsChangeTests {
    private static func change(
        _ before: String, _ after: String, isNamed: Bool = false, choosesInterfaces: Bool = false
    ) throws -> SettingsChange {
        SettingsChange(
            from: try SettingsFile(before, path: "a"), to: try SettingsFile(after, path: "a"), isNamed: isNamed,
            choosesInterfaces: choosesInterfaces)
    }

    @Test("name, hook and whether one goes away alone are taken at once; an option wins over the name")
    func atOnce() throws {
        let after = "name = 'Alicia'\non-message = ['x', 'y']\nprivacy.auto-away = false"
        let change = try Self.change("", after)
        #expect(change.name == "Alicia" && change.messageHook == ["x", "y"] && !change.goesAwayAlone)
        #expect(change.needingRestart.isEmpty)
        #expect(change.advice(isService: true, process: 1, options: "") == nil)
        #expect(try Self.change("", after, isNamed: true).name == nil)
        let back = try Self.change(after, "")
        #expect(back.name == nil && back.messageHook.isEmpty && back.goesAwayAlone)
    }

    @Test(
        "what a node has from its start is named, unless it is what held anyway",
        arguments: [
            ("privacy.send-typing = false", ["privacy.send-typing"]), ("privacy.send-typing = true", []),
            ("privacy.show-typing = false", ["privacy.show-typing"]), ("interfaces.use = ['eth0']", ["interfaces.use"]),
            ("interfaces.leave-out = ['eth0']", ["interfaces.leave-out"]), ("interfaces.use = []", []),
            ("chat = 'kitchen'\nmentions.bell = true\nindicator.style = 'short'", []),
        ])
    func atTheNextStart(_ settings: String, _ names: [String]) throws {
        #expect(try Self.change("", settings).needingRestart == names)
        #expect(try Self.change(settings, "").needingRestart == names)
        #expect(try Self.change(settings, settings).needingRestart.isEmpty)
    }

    @Test("options that choose the interfaces win over the settings")
    func interfaces() throws {
        #expect(try Self.change("", "interfaces.use = ['eth0']", choosesInterfaces: true).needingRestart.isEmpty)
    }

    @Test("the log says what to do, with a service manager and without")
    func advice() throws {
        let both = try Self.change("", "privacy.send-typing = false\nprivacy.show-typing = false")
        #expect(
            both.advice(isService: true, process: 7, options: "")
                == "privacy.send-typing, privacy.show-typing take effect when the daemon is started again: "
                + "systemctl --user restart inkling.service")
        let one = try Self.change("", "privacy.send-typing = false")
        #expect(
            one.advice(isService: false, process: 7, options: " --port 5")
                == "privacy.send-typing takes effect when the daemon is started again: kill 7, and then inkling daemon "
                + "--port 5")
    }
}
