import InklingText
import Testing

@Suite("Lines outside of the prompt")
struct WordWrapTests {
    @Test("a line breaks between words, and each further row is indented")
    func breaks() {
        let line = "inkling: no daemon is running; to start one: inkling daemon"
        #expect(WordWrap.text(line, columns: 30) == "inkling: no daemon is running;\n  to start one: inkling daemon")
        #expect(WordWrap.text(line, columns: 80) == line)
        for columns in 20...60 {
            let rows = WordWrap.text(line, columns: columns).split(separator: "\n")
            #expect(rows.allSatisfy { DisplayWidth.of($0) <= columns })
            let words = rows.flatMap { $0.split(separator: " ") }
            #expect(words == line.split(separator: " "))
        }
        #expect(WordWrap.text("日本 日本 日本 日本 日本", columns: 20) == "日本 日本 日本 日本\n  日本")
    }

    @Test("a word wider than a row, and a command to be copied, stay whole")
    func whole() {
        let invite = "inkling:kitchen#abcdefghijklmnopqrstuvwxya"
        #expect(WordWrap.text(invite, columns: 20) == invite)
        #expect(WordWrap.text("join with \(invite)", columns: 20) == "join with\n  \(invite)")
        let command = "         fix it: sudo nft add rule inet filter input udp dport 40001 accept"
        #expect(WordWrap.text(command, columns: 40) == command)
        #expect(WordWrap.text("a few words in a row", columns: 8) == "a few words in a row", "no terminal is so narrow")
    }
}
