import Glibc
import Inkling
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Synchronization
import Testing

/// The cost of damage, a full disk and a kill.
@Suite("Damaged texts on disk", .timeLimit(.minutes(3)))
struct TextLogsDamageTests {
    private static let headerSize = 40

    /// Records of all kinds, and the place in the segment at which each ends.
    private static func records(_ count: Int) throws -> (records: [TextRecord], ends: [Int]) {
        var records: [TextRecord] = []
        for number in 1...count {
            records.append(try SomeText.waiting(number, size: number % 7))
            if number % 2 == 0 { records.append(try SomeText.received(number, from: number % 3 + 1)) }
            if number % 3 == 0 { records.append(try SomeText.finished(number - 1)) }
            if number % 4 == 0 { records.append(try SomeText.read(number - 2, of: (number - 2) % 3 + 1)) }
        }
        var end = headerSize
        let ends = records.map { record in
            end += 4 + record.bytes.count + 16
            return end
        }
        return (records, ends)
    }

    @Test("a kill within a write costs the records that were not whole, and is not reported, at 200 places")
    func torn() async throws {
        let stage = try await TextStage()
        let (records, ends) = try Self.records(60)
        for record in records { try await stage.append([record]) }
        let segment = stage.segments[0]
        let whole = stage.bytes(segment)
        #expect(whole.count == ends.last)
        var generator = SeededGenerator(seed: 1)
        let places = ends + (0..<200).map { _ in Int.random(in: Self.headerSize...whole.count, using: &generator) }
        for (index, size) in places.enumerated() {
            // A power failure can leave zeros.
            let zeros = index % 3 == 0 ? [UInt8](repeating: 0, count: 9) : []
            stage.put(Array(whole.prefix(size)) + zeros, at: segment)
            let kept = records.prefix(ends.count { $0 <= size })
            #expect(stage.found().isSame(as: SomeText.state(kept)), "\(size)")
            guard index % 20 == 0 else { continue }
            try await stage.restart()
            #expect(try await stage.append([SomeText.waiting(999)]) == nil)
            try await stage.restart()
            #expect(try await stage.state().isSame(as: SomeText.state(kept + [SomeText.waiting(999)])), "\(size)")
        }
        #expect(stage.takeFaults().isEmpty)
    }

    @Test("a flipped bit costs its record, or the rest of the segment, and is reported once")
    func flipped() async throws {
        let stage = try await TextStage()
        let (records, ends) = try Self.records(4)
        for record in records { try await stage.append([record]) }
        let (segment, keys) = (stage.segments[0], stage.bytes(stage.keyFile))
        let whole = stage.bytes(segment)
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 1 << UInt8(place % 8)
            stage.put(bytes, at: segment)
            try await stage.restart()
            let index = ends.firstIndex { place < $0 } ?? 0
            let start = index == 0 ? Self.headerSize : ends[index - 1]
            var rest = place < Self.headerSize ? [] : records
            if place >= Self.headerSize { rest.remove(at: index) }
            let state = try await stage.state()
            // The words are four bytes before each record. Their highest bit marks a note, and has no effect.
            let isSame = state.isSame(as: SomeText.state(rest))
            if place < start + 4, place >= Self.headerSize {
                #expect(isSame || state.isSame(as: SomeText.state(records.prefix(index))), "\(place)")
            } else {
                #expect(isSame, "\(place)")
            }
            #expect(
                stage.takeFaults()
                    == [.damaged("\(segment) is damaged. Texts in it that waited or were unread are lost.")], "\(place)"
            )
            guard place % 16 == 0 else { continue }
            #expect(try await stage.append([SomeText.waiting(999)]) == nil)
            try await stage.restart()
            var after = state
            after.apply(try SomeText.waiting(999))
            #expect(try await stage.state().isSame(as: after), "\(place)")
            #expect(stage.takeFaults().isEmpty, "the damage was reported before")
            for path in stage.segments { unlink(path) }
            stage.put(keys, at: stage.keyFile)
        }
    }

    @Test("a missing or unreadable segment costs what it held, and is reported once")
    func missing() async throws {
        for index in 0..<3 {
            let stage = try await TextStage()
            for start in stride(from: 1, to: 700, by: 50) {
                try await stage.append((start..<start + 50).map { try SomeText.waiting($0, size: 1_000) })
            }
            let segments = stage.segments
            #expect(segments.count == 3)
            unlink(segments[index])
            // Nothing tells whether the last one was there.
            let isSeen = index < 2
            if index == 1 { mkdir(segments[index], 0o700) }
            try await stage.restart()
            let entries = try await stage.state().entries
            #expect((300...600).contains(entries.count) && entries == entries.sorted())
            #expect(stage.takeFaults().count == (isSeen ? 1 : 0))
            #expect(try await stage.append([SomeText.waiting(999)]) == nil)
            try await stage.restart()
            #expect(try await stage.state().entries == entries + [999] && stage.takeFaults().isEmpty)
        }
    }

    @Test("a full disk fails the appends that did not fit, and is reported once")
    func full() async throws {
        let size = try SomeText.waiting(2).bytes.count + 20
        for room in [0, 1, 3, 4, 5, 30, size - 1, size] {
            let stage = try await TextStage()
            try await stage.append([SomeText.waiting(1)])
            stage.disk.room.withLock { $0 = room }
            let first = try await stage.append([SomeText.waiting(2)])
            #expect((first == nil) == (room == size), "\(room)")
            for _ in 0..<2 {
                let reason = try await stage.append([SomeText.waiting(3)])
                #expect(reason?.hasSuffix(": No space left on device") == true)
            }
            let entries = room == size ? [1, 2] : [1]
            #expect(try await stage.state().entries == entries)
            #expect(stage.found().entries == entries)
            guard case .unwritable? = stage.takeFaults().first else { Issue.record("no fault"); continue }
            stage.disk.room.withLock { $0 = nil }
            #expect(try await stage.append([SomeText.waiting(4)]) == nil)
            #expect(stage.takeFaults() == [.writable])
            try await stage.restart()
            #expect(try await stage.state().entries == entries + [4] && stage.takeFaults().isEmpty, "\(room)")
        }
    }

    @Test("a failed flush fails all appends of the write, and later ones are whole")
    func flush() async throws {
        let stage = try await TextStage()
        let other = TextLogID(try Chat("open"))
        try await stage.append([SomeText.waiting(1)])
        try await stage.append([SomeText.waiting(1)], to: other)
        stage.disk.flushesFail.withLock { $0 = true }
        for size in [10, 1_000] {
            let records = try (2...400).map { try SomeText.waiting($0, size: size) }
            // The records fill more than one segment.
            #expect(try await stage.append(records) != nil)
            #expect(try await stage.append([SomeText.finished(1)]) != nil)
            #expect(try await stage.append([SomeText.finished(1)], to: other) != nil)
            #expect(try await stage.state().entries == [1])
            #expect(try await stage.state(other).entries == [1])
        }
        stage.disk.flushesFail.withLock { $0 = false }
        let found = stage.found().entries
        #expect(found == [1], "what was not flushed was cut off")
        #expect(try await stage.append([SomeText.waiting(500)]) == nil)
        #expect(try await stage.append([SomeText.waiting(500)], to: other) == nil)
        try await stage.restart()
        for log in [stage.log, other] { #expect(try await stage.state(log).entries == [1, 500]) }
        #expect(stage.takeFaults().count == 2, "unwritable, and writable again")
    }

    @Test("without keys that can be read, nothing is written, and nothing is removed")
    func keys() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1)])
        let (segments, keys) = (stage.segments, stage.bytes(stage.keyFile))
        stage.put(Array(keys.dropLast()), at: stage.keyFile)
        try await stage.restart()
        guard case .damaged(let text)? = stage.takeFaults().first else { Issue.record("no fault"); return }
        #expect(text.hasPrefix("\(stage.keyFile) can't be used: it is damaged."))
        #expect(try await stage.state().entries.isEmpty)
        #expect(try await stage.append([SomeText.waiting(2)])?.hasSuffix("it is damaged") == true)
        #expect(try await stage.end() == nil)
        #expect(try await stage.rekey([stage.log]) == nil)
        #expect(stage.segments == segments && stage.bytes(stage.keyFile).count == keys.count - 1)
        #expect(stage.takeFaults().isEmpty)
        stage.put(keys, at: stage.keyFile)
        #expect(stage.found().entries == [1])
        // Without the file, its copy may come back, until texts begin under new keys.
        unlink(stage.keyFile)
        try await stage.restart()
        guard case .damaged? = stage.takeFaults().first else { Issue.record("no fault"); return }
        #expect(stage.segments == segments)
        #expect(try await stage.append([SomeText.waiting(2)]) == nil)
        #expect(stage.found().entries == [2])
    }
}
