/// The place of a session among all of a node: the newest of a link sends (L-21).
struct SessionOrder: Comparable, Sendable {
    private let number: UInt64
    /// It gave way to the session of that number when it joined that one's link, and so comes right before it.
    private let gaveWay: Bool

    private init(number: UInt64, gaveWay: Bool) {
        self.number = number
        self.gaveWay = gaveWay
    }

    /// Before every session.
    static let first = SessionOrder(number: 0, gaveWay: false)

    var next: SessionOrder { SessionOrder(number: number + 1, gaveWay: false) }

    /// The place of a session that gives way to one at this place: its own, if that is older still.
    func givingWay(to other: SessionOrder) -> SessionOrder {
        min(self, SessionOrder(number: other.number, gaveWay: true))
    }

    static func < (left: SessionOrder, right: SessionOrder) -> Bool {
        left.number == right.number ? left.gaveWay && !right.gaveWay : left.number < right.number
    }
}
