import InklingCLI
import Testing

@Suite("A daemon and a front end of different versions")
struct VersionTests {
    @Test(
        "both versions are said, and which side is the older one",
        arguments: [
            ("0.1.0", "0.1.0", nil), ("0.9.0", "0.10.0", "restart the daemon to use the new one"),
            ("0.10.0", "0.9.9", "start this program again to use the new one"),
            ("1.0", "1.0.1", "restart the daemon to use the new one"),
        ] as [(String, String, String?)])
    func older(_ daemon: String, _ program: String, _ advice: String?) {
        let expected = advice.map { "The daemon has version \(daemon), and this program \(program): \($0)" }
        #expect(VersionDifference.text(daemon: daemon, program: program) == expected)
    }

    @Test("a version that is no row of numbers is shown, made harmless, and not compared")
    func strange() {
        #expect(
            VersionDifference.text(daemon: "1.2-\u{1B}[2Jbeta", program: "1.2")
                == "The daemon has version 1.2-\\x1b[2Jbeta, and this program 1.2")
        #expect(
            VersionDifference.text(daemon: "", program: "1")
                == "The daemon has version unknown, and this program 1")
        let long = VersionDifference.text(daemon: String(repeating: "9", count: 10_000), program: "1") ?? ""
        #expect(long.count < 200)
    }

    @Test("whoever can't go on says which side to upgrade")
    func newer() {
        let text = VersionDifference.newerInterface(of: "2.0.0", than: "0.1.0")
        #expect(text.contains("2.0.0") && text.contains("0.1.0") && text.contains("Upgrade this program"))
    }
}
