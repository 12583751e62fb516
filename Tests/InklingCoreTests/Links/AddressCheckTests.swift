import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("The check of an address")
struct AddressCheckTests {
    private let one = VirtualLAN.address(101)
    private let other = VirtualLAN.address(102)

    @Test("three times the bytes that came from an address may go there, and none elsewhere (L-51)")
    func bytes() {
        var check = AddressCheck()
        let before = check.take(1, to: one)
        check.received(30, from: one)
        let some = check.take(60, to: one)
        let tooMany = check.take(31, to: one)
        let rest = check.take(30, to: one)
        let elsewhere = check.take(1, to: other)
        #expect(!before && some && !tooMany && rest && !elsewhere)
        check.received(10, from: one)
        let sparing = check.take(20, to: one, sparing: 11)
        let more = check.take(20, to: one, sparing: 10)
        #expect(!sparing && more)
    }

    @Test("the bytes of an address count from 0 on when another came between (L-51)")
    func alternating() {
        var check = AddressCheck()
        check.received(30, from: one)
        check.received(30, from: other)
        let gone = check.take(1, to: one)
        check.received(10, from: one)
        let tooMany = check.take(31, to: one)
        let new = check.take(30, to: one)
        #expect(!gone && !tooMany && new)
    }

    @Test("pings are 125 ms apart, and begin again 1 s after a wrong token (L-51)")
    func rate() {
        var check = AddressCheck()
        func pings(_ times: [Int]) -> [Int] {
            times.filter { check.mayPing(.at($0)) }
        }
        #expect(pings([0, 1, 124, 125, 249, 250]) == [0, 125, 250])
        check.end(.at(260))
        #expect(pings([375, 1_259, 1_260, 1_261]) == [1_260])
    }

    @Test("the newest evidence alone says where a link may go")
    func newest() {
        var check = AddressCheck()
        #expect(!check.isNewest(one))
        check.heard(from: one)
        #expect(check.isNewest(one))
        check.heard(from: other)
        #expect(!check.isNewest(one) && check.isNewest(other))
    }

    @Test("changes of the own networks draw a ping at once, then one at the end of each second (L-40)")
    func changes() {
        var pings = ChangePings.none
        #expect(pings.nextDeadline == nil)
        let first = pings.changed(.at(0))
        #expect(first && pings.nextDeadline == nil)
        let soon = pings.changed(.at(300))
        let again = pings.changed(.at(600))
        #expect(!soon && !again && pings.nextDeadline == .at(1_000))
        let early = pings.advance(.at(999))
        let due = pings.advance(.at(1_000))
        let once = pings.advance(.at(1_000))
        #expect(!early && due && !once && pings.nextDeadline == nil)
        let within = pings.changed(.at(1_999))
        #expect(!within && pings.nextDeadline == .at(2_000))
        let last = pings.advance(.at(2_000))
        let later = pings.changed(.at(3_000))
        #expect(last && later)
    }
}
