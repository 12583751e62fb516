import Glibc
import InklingCLI
import Testing

@Suite("Failures to read a terminal")
struct ReadFailuresTests {
    @Test("a failure in the background is not the end, nor is the first one that shows in front")
    func background() {
        var failures = ReadFailures()
        // Three failures in the background, the late report of one, and the failure of a lost terminal.
        let ends = [true, true, true, false, false].map { isOthers in failures.isEnd(EIO, isOthers: isOthers) }
        #expect(ends == [false, false, false, false, true])
    }

    @Test("the end of the input and other errors are the end at once", arguments: [nil, EBADF] as [Int32?])
    func endOfInput(_ code: Int32?) {
        var failures = ReadFailures()
        let isEnd = failures.isEnd(code, isOthers: false)
        #expect(isEnd)
    }
}
