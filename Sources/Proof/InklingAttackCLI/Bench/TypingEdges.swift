/// The delays of starts and stops of typing, from one node's input to the other node's output.
struct TypingEdges {
    /// The range of the time between two edges, in seconds. At least 0.5 s lie between two starts (T-5).
    private static let pause = 0.3...0.4
    /// The longest delay of an edge, in seconds. An edge with a longer delay counts as lost.
    private static let patience = 2.0

    /// The measured delays in seconds, sorted.
    private(set) var times: [Double] = []
    private(set) var lostCount = 0

    /// Types for a time, and measures the delays.
    init(from typist: Node, to reader: Node, seconds: Double) {
        let end = monotonicSeconds() + seconds
        var isTyping = true
        while monotonicSeconds() < end, typist.status == nil, reader.status == nil {
            let begin = monotonicSeconds()
            // After a lost edge, the next edge may not change the display.
            let isVisible = reader.showsTyping != isTyping
            typist.compose(isTyping ? "a" : "")
            while isVisible {
                if let arrival = reader.arrival(of: isTyping, since: begin) {
                    times.append(arrival - begin)
                    break
                }
                if monotonicSeconds() > begin + TypingEdges.patience {
                    lostCount += 1
                    break
                }
                rest(0.001)
            }
            isTyping.toggle()
            rest(begin + Double.random(in: TypingEdges.pause) - monotonicSeconds())
        }
        typist.compose("")
        times.sort()
    }

    var count: Int { times.count + lostCount }

    /// Returns the delay that a part of all edges did not exceed, in seconds; nil if too many edges were lost.
    func percentile(_ part: Double) -> Double? {
        guard count > 0 else { return nil }
        let place = max(0, Int((part * Double(count)).rounded(.up)) - 1)
        return place < times.count ? times[place] : nil
    }
}
