/// The icon as a picture, for panels that find no theme with its name, and for states without a theme's icon.
///
/// The shapes are those of `icon.svg`, in its 64 units.
enum IconPicture {
    private typealias Point = (x: Double, y: Double)
    private struct Color {
        let (red, green, blue): (Double, Double, Double)
        static let blue = Color(red: 0x3D, green: 0x4E, blue: 0xD8)
        static let grey = Color(red: 0x80, green: 0x84, blue: 0x90)
        static let white = Color(red: 0xFF, green: 0xFF, blue: 0xFF)
        static let red = Color(red: 0xC6, green: 0x28, blue: 0x28)
    }

    private static let sizes = [24, 48]
    /// The samples of a pixel in each direction.
    private static let samples = 4

    /// The pictures of a state, an array of width, height and pixels.
    static func pictures(of state: TrayState) -> BusValue {
        .array(
            "(iiay)",
            sizes.map { size in
                .structure([.int32(Int32(size)), .int32(Int32(size)), .bytes(pixels(of: state, size: size))])
            })
    }

    /// The pixels in rows, each as alpha, red, green and blue.
    private static func pixels(of state: TrayState, size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size * size * 4)
        let step = 64 / Double(size * samples)
        let badge = Badge(state.unread)
        for row in 0..<size {
            for column in 0..<size {
                var (alpha, red, green, blue) = (0.0, 0.0, 0.0, 0.0)
                for sample in 0..<(samples * samples) {
                    let x = (Double(column * samples + sample % samples) + 0.5) * step
                    let y = (Double(row * samples + sample / samples) + 0.5) * step
                    guard let color = badge.color(at: (x, y)) ?? bubble(state.presence, at: (x, y)) else { continue }
                    alpha += 1
                    red += color.red
                    green += color.green
                    blue += color.blue
                }
                let divisor = max(alpha, 1)
                bytes.append(UInt8(alpha * 255 / Double(samples * samples)))
                for part in [red, green, blue] { bytes.append(UInt8(part / divisor)) }
            }
        }
        return bytes
    }

    /// The bubble: with dots while the user is online, with two bars while away, and empty without a daemon.
    private static func bubble(_ presence: TrayState.Presence, at point: Point) -> Color? {
        guard isInBubble(point, inset: 0) else { return nil }
        switch presence {
        case .online:
            return [19.0, 32, 45].contains { isNear(point, ($0, 28), 5) } ? .white : .blue
        case .away:
            return [23.0, 41].contains { abs(point.x - $0) < 4 && abs(point.y - 28) < 10 } ? .white : .grey
        case .noDaemon:
            return isInBubble(point, inset: 6) ? nil : .grey
        }
    }

    private static func isInBubble(_ point: Point, inset: Double) -> Bool {
        let radius = 8 - inset / 2
        let (left, right, top, bottom) = (4 + inset, 60 - inset, 8 + inset, 48 - inset)
        if point.x >= left, point.x <= right, point.y >= top, point.y <= bottom {
            let x = min(max(point.x, left + radius), right - radius)
            let y = min(max(point.y, top + radius), bottom - radius)
            return isNear(point, (x, y), radius)
        }
        // The tail leads from the lower edge to its tip at 14, 58.
        return inset == 0 && point.y > 48 && point.x >= 14 && point.x - 14 <= (58 - point.y) * 1.4
    }

    private static func isNear(_ point: Point, _ center: Point, _ radius: Double) -> Bool {
        let (x, y) = (point.x - center.x, point.y - center.y)
        return x * x + y * y <= radius * radius
    }

    /// The number of unread messages on a disc: 1 to 9, or "9+".
    private struct Badge {
        private let glyphs: [[UInt8]]
        private let cell: Double

        /// The rows of each digit from the top, with three bits each, and of the plus sign.
        private static let digits: [[UInt8]] = [
            [7, 5, 5, 5, 7], [2, 6, 2, 2, 7], [7, 1, 7, 4, 7], [7, 1, 7, 1, 7], [5, 5, 7, 1, 1], [7, 4, 7, 1, 7],
            [7, 4, 7, 5, 7], [7, 1, 2, 2, 2], [7, 5, 7, 5, 7], [7, 5, 7, 1, 7],
        ]
        private static let plus: [UInt8] = [0, 2, 7, 2, 0]
        private static let (center, radius): (Point, Double) = ((45, 45), 19)

        init(_ unread: Int) {
            glyphs = unread == 0 ? [] : unread < 10 ? [Self.digits[unread]] : [Self.digits[9], Self.plus]
            cell = glyphs.count == 1 ? 5 : 4
        }

        /// The color of the badge at a point; nil beside it.
        func color(at point: Point) -> Color? {
            guard !glyphs.isEmpty, IconPicture.isNear(point, Self.center, Self.radius) else { return nil }
            let columns = Double(glyphs.count * 4 - 1)
            let column = Int(((point.x - Self.center.x) / cell + columns / 2).rounded(.down))
            let row = Int(((point.y - Self.center.y) / cell + 2.5).rounded(.down))
            guard (0..<5).contains(row), (0..<Int(columns)).contains(column), column % 4 < 3 else { return .red }
            return glyphs[column / 4][row] >> (2 - column % 4) & 1 == 1 ? .white : .red
        }
    }
}
