import Glibc
import InklingCLI
import InklingConsole
import Testing

@Suite("Times of day, as people read them")
struct LocalTimeTests {
    @Test("a change of the time zone shows at once in a program that runs")
    func zone() async {
        // The zone belongs to the whole process, so this test has a process of its own.
        await #expect(processExitsWith: .success) {
            setenv("TZ", "UTC", 1)
            let before = LocalTime(wall: 0)
            setenv("TZ", "XYZ-9", 1)
            let after = LocalTime(wall: 0)
            exit(before.hour == 0 && after.hour == 9 ? 0 : 1)
        }
    }
}
