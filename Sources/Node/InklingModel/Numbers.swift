/// The number of a message: among those that a node has received, or among those that it has sent, from 1 on.
public struct MessageID: RawRepresentable, ExpressibleByIntegerLiteral, Hashable, Comparable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The message of that number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The message of that number.
    public init(integerLiteral number: UInt64) { rawValue = number }

    /// Compares the numbers.
    public static func < (left: MessageID, right: MessageID) -> Bool { left.rawValue < right.rawValue }
}

extension MessageID: CustomStringConvertible {
    /// The number in decimal digits.
    public var description: String { "\(rawValue)" }
}

/// A time of day, with microseconds, in the years 1970 to 9999.
///
/// Peers and files can hold any number as a time. No such number makes a later calculation or conversion fail.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable {
    /// The valid times, in seconds since 1970.
    package static let range: Range<Double> = 0..<253_402_300_800

    /// Seconds since 1970.
    public let rawValue: Double

    /// The time so many seconds after the beginning of 1970. Another time becomes the nearest one in the years 1970 to
    /// 9999. A value that is not a number becomes the beginning of 1970.
    public init(rawValue: Double) {
        // A comparison with a value that is not a number is false.
        self.rawValue = rawValue > Self.range.lowerBound ? min(rawValue, Self.range.upperBound.nextDown) : 0
    }

    /// Whether the left time is the earlier one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.rawValue < right.rawValue }

    /// Returns the time so long before another.
    package static func - (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(rawValue: time.rawValue - duration / .seconds(1))
    }

    /// Returns the seconds from an earlier time to this one; negative for a later time.
    package func seconds(since earlier: Timestamp) -> Double { rawValue - earlier.rawValue }
}

extension Timestamp: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// The time so many seconds after the beginning of 1970.
    public init(floatLiteral seconds: Double) { self.init(rawValue: seconds) }

    /// The time so many seconds after the beginning of 1970.
    public init(integerLiteral seconds: Int64) { self.init(rawValue: Double(seconds)) }
}

extension Timestamp: CustomStringConvertible {
    /// Seconds since 1970.
    public var description: String { "\(rawValue)" }
}
