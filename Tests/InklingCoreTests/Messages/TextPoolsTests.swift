import InklingWire
import Testing

@testable import InklingCore

@Suite("room for texts")
struct TextPoolsTests {
    typealias Pools = TextPools<Int, String, String>

    private static let pool = 8 * 1_024 * 1_024

    private func tenant(_ standing: Standing, source: String? = nil, chat: String? = nil) -> Pools.Tenant {
        Pools.Tenant(standing: standing, source: source, secretChat: chat)
    }

    /// Fills the pool of texts with texts of 64 KiB. Each has a separate link with the tenant `tenant(index)`.
    ///
    /// - Returns: The number of texts for which there was room.
    private func fill(_ pools: inout Pools, from first: Int, _ tenant: (Int) -> Pools.Tenant) -> Int {
        var count = 0
        while count < 999, pools.grant(.deliver(65_280), to: first + count, tenant(first + count)) { count += 1 }
        return count
    }

    @Test("M-20: the texts count with 256 bytes more until the user has taken them, also after the link")
    func texts() {
        var pools = Pools()
        let count = fill(&pools, from: 0) { _ in tenant(.verified) }
        #expect(count == 128)
        #expect(pools.size == TextPoolsTests.pool)
        pools.remove(0)
        let full = pools.grant(.deliver(1), to: 200, tenant(.verified))
        #expect(!full)
        pools.take(65_280, of: 0)
        #expect(pools.size == TextPoolsTests.pool - 65_536)
        let again = pools.grant(.deliver(1), to: 200, tenant(.verified))
        #expect(again)
    }

    @Test("M-20, M-39: begun messages reserve 65,792 bytes of a pool of their own until they end")
    func unfinished() {
        var pools = Pools()
        _ = fill(&pools, from: 0) { _ in tenant(.verified) }
        var begun = 0
        while begun < 999, pools.grant(.begin, to: 1_000 + begun, tenant(.verified)) { begun += 1 }
        #expect(begun == TextPoolsTests.pool / 65_792)
        _ = pools.grant(.end, to: 1_000, tenant(.verified))
        let again = pools.grant(.begin, to: 2_000, tenant(.verified))
        #expect(again)
        pools.remove(1_001)
        let after = pools.grant(.begin, to: 2_001, tenant(.verified))
        #expect(after)
        #expect(pools.size == TextPoolsTests.pool + begun * 65_792)
    }

    @Test("M-40: a record beyond counts its bytes and 256, and is held only while its shares are less than half full")
    func beyond() {
        var pools = Pools()
        let held = pools.grant(.hold(100), to: 1, tenant(.stranger, source: "a"))
        #expect(held)
        #expect(pools.size == 356)
        _ = pools.grant(.drop(100), to: 1, tenant(.stranger, source: "a"))
        #expect(pools.size == 0)
        // A source has a share of 524,288 bytes. Four reservations are a little more than half.
        for link in 0..<4 { _ = pools.grant(.begin, to: link, tenant(.stranger, source: "a")) }
        let beyond = pools.grant(.hold(100), to: 1, tenant(.stranger, source: "a"))
        #expect(!beyond)
        let begin = pools.grant(.begin, to: 5, tenant(.stranger, source: "a"))
        #expect(begin, "begun messages may have the other half")
        let elsewhere = pools.grant(.hold(100), to: 6, tenant(.stranger, source: "b"))
        #expect(elsewhere)
    }

    @Test("M-40: a share that is exactly half full holds no further record beyond")
    func exactlyHalf() {
        var pools = Pools()
        let tenant = tenant(.stranger, source: "a")
        let held = (0..<5).map { _ in pools.grant(.hold(65_280), to: 1, tenant) }
        #expect(held == [true, true, true, true, false])
    }

    @Test(
        "M-42: the shares of a pool by rank, secret chat and source",
        arguments: [
            ("verified people have no share", Standing.verified, true, true, 128),
            ("unverified people: three quarters", .met, false, false, 96),
            ("strangers: half", .stranger, false, false, 64),
            ("a secret chat: a quarter", .met, true, false, 32),
            ("a source: a sixteenth", .met, false, true, 8),
            ("a stranger's source: a sixteenth", .stranger, false, true, 8),
        ])
    func shares(name: String, standing: Standing, inChat: Bool, ofSource: Bool, count: Int) {
        var pools = Pools()
        let tenant = tenant(standing, source: ofSource ? "a" : nil, chat: inChat ? "chat" : nil)
        #expect(fill(&pools, from: 0) { _ in tenant } == count)
    }

    @Test("M-42: strangers leave room for people met, and both leave room for verified people")
    func ranks() {
        var pools = Pools()
        let strangers = fill(&pools, from: 0) { tenant(.stranger, source: "\($0)") }
        let met = fill(&pools, from: 1_000) { tenant(.met, source: "\($0)") }
        let verified = fill(&pools, from: 2_000) { _ in tenant(.verified) }
        #expect([strangers, met, verified] == [64, 32, 32])
    }

    @Test("M-42: a link that changes its rank or source counts in its present shares")
    func moved() {
        var pools = Pools()
        #expect(fill(&pools, from: 0) { _ in tenant(.stranger, source: "a") } == 8)
        let refused = pools.grant(.deliver(1_000), to: 0, tenant(.stranger, source: "a"))
        #expect(!refused)
        let verified = pools.grant(.deliver(1), to: 1, tenant(.verified))
        #expect(verified)
        let freed = pools.grant(.deliver(1_000), to: 0, tenant(.stranger, source: "a"))
        #expect(freed, "link 1 counts in no share now")
    }

    @Test("M-41: a link without room is named when all its shares are half free again")
    func release() {
        var pools = Pools()
        let tenant = tenant(.stranger, source: "a")
        for link in 0..<8 { _ = pools.grant(.deliver(65_280), to: link, tenant) }
        for link in (8..<30).reversed() {
            let refused = pools.grant(.deliver(1), to: link, tenant)
            #expect(!refused)
        }
        for link in 0..<3 { pools.take(65_280, of: link) }
        let early = pools.release()
        #expect(early == [])
        pools.take(65_280, of: 3)
        pools.remove(7)
        let released = pools.release()
        #expect(released == Array(8..<30))
        let again = pools.release()
        #expect(again == [])
    }

    @Test("M-41: a link that was forgotten is not named")
    func forgotten() {
        var pools = Pools()
        _ = fill(&pools, from: 0) { _ in tenant(.verified) }
        _ = pools.grant(.deliver(1), to: 500, tenant(.verified))
        pools.remove(500)
        for link in 0..<128 { pools.take(65_280, of: link) }
        let released = pools.release()
        #expect(released == [128], "link 128 filled the pool and was refused then")
        while pools.grant(.begin, to: 1_000, tenant(.met, source: "a")) {}
        _ = pools.grant(.begin, to: 1_001, tenant(.met, source: "a"))
        pools.remove(1_000)
        pools.remove(1_001)
        let none = pools.release()
        #expect(none == [])
    }

    @Test("a link that holds over three times what is free waits, so that one friend leaves room for others")
    func oneFriend() {
        var pools = Pools()
        var count = 0
        while count < 999, pools.grant(.deliver(65_280), to: 1, tenant(.verified)) { count += 1 }
        #expect(count == 97)
        let other = pools.grant(.deliver(65_280), to: 2, tenant(.verified))
        #expect(other)
    }
}
