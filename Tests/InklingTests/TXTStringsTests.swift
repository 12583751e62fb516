import Inkling
import InklingWire
import Testing

@Suite("The order of a TXT record's strings")
struct TXTStringsTests {
    private func record(_ strings: String...) -> [UInt8] { strings.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } }

    @Test("the last string comes first, and twice is nothing")
    func reversed() {
        let record = record("txtvers=1", "k=A", "", "k=B")
        #expect(TXTStrings.reversed(record) == self.record("k=B", "", "k=A", "txtvers=1"))
        #expect(TXTStrings.reversed(TXTStrings.reversed(record)) == record)
        #expect(TXTStrings.reversed([]) == [])
    }

    @Test("a record that is not whole stays so (D-5)")
    func broken() { #expect(TXTStrings.reversed([1, 65, 5, 66]) == [1, 65, 5, 66]) }
}
