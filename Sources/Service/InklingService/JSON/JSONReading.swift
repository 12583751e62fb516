import InklingModel

// The members of lines from a daemon. A missing member, or one of another type, is nil.

extension JSONElement {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var unsigned: UInt64? { if case .number(let digits) = self { UInt64(digits) } else { nil } }
    /// An integer that each reader of JSON has without rounding. Sums and products of such integers have room in `Int`.
    var integer: Int? {
        guard case .number(let digits) = self, let value = Int(digits), value.magnitude <= JSONRequestID.greatest else {
            return nil
        }
        return value
    }
    /// A finite number.
    var double: Double? {
        guard case .number(let digits) = self, let value = Double(digits), value.isFinite else { return nil }
        return value
    }
    var strings: [String]? {
        guard case .array(let elements) = self else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
    var objects: [JSONMembers]? {
        guard case .array(let elements) = self else { return nil }
        let objects = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
        return objects.count == elements.count ? objects : nil
    }
    var object: JSONMembers? { if case .object(let members) = self { members } else { nil } }
    var time: Timestamp? { double.map { Timestamp(rawValue: $0) } }
    /// A duration of at most a day, in milliseconds.
    var milliseconds: Duration? { double.map { .microseconds(min(max($0, 0), 86_400_000) * 1_000) } }
    var message: MessageID? { unsigned.map { MessageID(rawValue: $0) } }
    var key: PublicKey? { string.flatMap { PublicKey($0) } }
    var user: UserID? { string.flatMap { UserID($0) } }
}
