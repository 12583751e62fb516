import InklingWire

/// The IDs of the texts of one sender in one chat that a node has kept (M-83).
package struct SeenTexts: Hashable, Sendable {
    /// The numbers of one run of the sender.
    package struct Run: Hashable, Sendable {
        package let run: UInt64
        /// The highest number seen.
        package var highest: UInt64
        /// Bit i: the number ``highest`` − 1 − i was seen.
        package var below: UInt64

        package init(run: UInt64, highest: UInt64, below: UInt64) {
            self.run = run
            self.highest = highest
            self.below = below
        }

        fileprivate func contains(_ number: UInt64) -> Bool {
            guard number < highest else { return number == highest }
            let place = highest - number - 1
            // The writer sends no number so far below (M-85).
            return place >= Limits.textsSeen || below & 1 << place != 0
        }

        fileprivate mutating func insert(_ number: UInt64) {
            guard !contains(number) else { return }
            guard number > highest else {
                below |= 1 << (highest - number - 1)
                return
            }
            let step = number - highest
            // Swift's shift by 64 or more gives 0.
            below = below << step | (step <= 64 ? 1 << (step - 1) : 0)
            highest = number
        }

        fileprivate mutating func formUnion(_ other: Run) {
            insert(other.highest)
            let step = highest - other.highest
            below |= other.below << step
        }
    }

    /// The last runs, the one used last at the end.
    package private(set) var runs: [Run]

    package init(runs: [Run] = []) { self.runs = runs.suffix(Limits.runsSeen) }

    package func contains(_ id: TextID) -> Bool { runs.first { $0.run == id.run }?.contains(id.number) ?? false }

    package mutating func insert(_ id: TextID) {
        var run = Run(run: id.run, highest: id.number, below: 0)
        if let place = runs.firstIndex(where: { $0.run == id.run }) {
            run = runs.remove(at: place)
            run.insert(id.number)
        } else if runs.count == Limits.runsSeen {
            runs.removeFirst()
        }
        runs.append(run)
    }

    /// Returns the IDs of both, for two chats that became one. Without room, further runs of `other` are left out.
    package func union(_ other: SeenTexts) -> SeenTexts {
        var union = self
        for run in other.runs.reversed() {
            guard let place = union.runs.firstIndex(where: { $0.run == run.run }) else {
                // The runs of the present chat count as used last.
                if union.runs.count < Limits.runsSeen { union.runs.insert(run, at: 0) }
                continue
            }
            union.runs[place].formUnion(run)
        }
        return union
    }
}
