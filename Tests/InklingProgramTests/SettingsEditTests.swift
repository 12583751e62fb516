import Foundation
import InklingCLI
import Testing

@Suite("Settings that the program writes")
struct SettingsEditTests {
    @Test(
        "one value changes and the rest of the file stays as it is",
        arguments: [
            ("", "name = \"Zoe\"\n"), ("name = \"Alice\"\n", "name = \"Zoe\"\n"),
            ("# mine\nname = 'Alice'  # me\nchat = \"x\"\n", "# mine\nname = \"Zoe\"  # me\nchat = \"x\"\n"),
            ("[mentions]\nbell = true\n", "name = \"Zoe\"\n[mentions]\nbell = true\n"),
            ("name = \"A # B\"\n", "name = \"Zoe\"\n"), ("chat = \"name = x\"", "name = \"Zoe\"\nchat = \"name = x\""),
        ])
    func name(before: String, after: String) {
        #expect(SettingsEdit.name("Zoe").applied(to: before) == after)
    }

    @Test(
        "a value in a table is put where it belongs",
        arguments: [
            ("", "[mentions]\nbell = true\n"), ("name = \"A\"\n", "name = \"A\"\n\n[mentions]\nbell = true\n"),
            ("[mentions]\nbell = false # loud\n", "[mentions]\nbell = true # loud\n"),
            (
                "[mentions] # here\n\n[privacy]\nauto-away = false\n",
                "[mentions] # here\nbell = true\n\n[privacy]\nauto-away = false\n"
            ),
            ("mentions.bell = false\n", "mentions.bell = true\n"),
        ])
    func bell(before: String, after: String) {
        #expect(SettingsEdit.bell(true).applied(to: before) == after)
    }

    @Test(
        "a file that has the setting in another form is left alone",
        arguments: ["mentions = { bell = false }\n", "[ mentions ]\nbell = false\n", "name = \n", "[[x]]\n"])
    func otherForms(text: String) {
        let edited = SettingsEdit.bell(true).applied(to: text)
        #expect(edited == nil)
    }

    @Test("a name with quotes is written so that it is read as it was")
    func quotes() throws {
        let text = try #require(SettingsEdit.name("Zo\"e \\ é").applied(to: "name = \"A\"\n"))
        #expect(try SettingsFile(text, path: "").name == "Zo\"e \\ é")
        #expect(SettingsEdit.name("Zoe").applied(to: "name = \"\"\"\nAlice\"\"\"\n") == nil)
    }

    @Test("the file keeps its permissions and a link to it, and a new one is for the user alone")
    func files() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, link) = (folder.appending(path: "a/config.toml").path, folder.appending(path: "link.toml").path)
        func mode() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(SettingsEdit.bell(true).write(to: path) == nil)
        #expect(try mode() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(SettingsEdit.name("Zoe").write(to: link) == nil)
        #expect(try mode() == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        let settings = try SettingsFile.read(path, isNamed: true)
        #expect(settings.name == "Zoe" && settings.ringsForMentions == true)
        #expect(SettingsEdit.name("Zoe").write(to: folder.path) != nil)
    }
}
