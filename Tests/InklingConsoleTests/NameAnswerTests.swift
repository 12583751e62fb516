import InklingConsole
import Testing

@Suite("The question for the user's name")
struct NameAnswerTests {
    @Test(
        "a slash begins a command there too, so nobody is called /quit",
        arguments: ["/quit", " /QUIT ", "/q", "/exit", "\t/quit"])
    func quits(line: String) {
        #expect(NameAnswer(line, proposal: "alice") == .quit)
    }

    @Test("another command is refused with what to do", arguments: ["/help", "/nick Bob", "/", "//Bob", "/quit now"])
    func refused(line: String) {
        guard case .refused(let why) = NameAnswer(line, proposal: "alice") else {
            Issue.record("\(line) was taken")
            return
        }
        #expect(why.contains("/quit") && why.hasSuffix("Type your name, or press Enter."))
    }

    @Test(
        "any other answer is the name, and Enter takes the proposal",
        arguments: [("Zoe", "Zoe"), (" Anna Maria ", "Anna Maria"), ("", "alice"), ("either/or", "either/or")])
    func named(line: String, name: String) {
        #expect(NameAnswer(line, proposal: "alice") == .name(name))
    }

    @Test("a name that nobody could read is refused")
    func unreadable() {
        guard case .refused(let why) = NameAnswer("\u{1B}[31m", proposal: "alice") else {
            Issue.record("it was taken")
            return
        }
        #expect(why.hasSuffix("Choose another."))
    }
}
