import Testing

@testable import InklingCore

@Suite("Order of sessions")
struct SessionOrderTests {
    @Test("each session comes after all before it (L-21)")
    func ascending() {
        let orders = (0...5).map(Parts.order)
        for (left, right) in zip(orders, orders.dropFirst()) {
            #expect(left < right)
            #expect(!(right < left))
            #expect(left != right)
        }
        #expect(orders[0] == .first)
    }

    @Test("one that gives way comes right before the other, or stays where it was (L-21)", arguments: 1...4, 1...4)
    func givingWay(_ own: Int, _ other: Int) {
        let place = Parts.order(own).givingWay(to: Parts.order(other))
        if own < other {
            #expect(place == Parts.order(own))
        } else {
            #expect(place < Parts.order(other))
            #expect(place > Parts.order(other - 1))
            #expect(place.next > Parts.order(other))
        }
        #expect(place.givingWay(to: Parts.order(other)) == place)
    }

    @Test("of two that gave way to one neither is before the other")
    func equal() {
        let other = Parts.order(2)
        #expect(Parts.order(3).givingWay(to: other) == Parts.order(4).givingWay(to: other))
    }
}
