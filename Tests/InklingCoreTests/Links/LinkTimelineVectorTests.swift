import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Timelines of links")
struct LinkTimelineVectorTests {
    @Test("the file of timelines is there, with each row of the table of L-21")
    func present() {
        #expect(LinkTimeline.all.count >= 46)
        for row in 1...5 { #expect(LinkTimeline.all.contains { $0.name.hasPrefix("row \(row):") }, "row \(row)") }
    }

    @Test("a node sends and tells what the timeline says, and nothing else", arguments: LinkTimeline.all)
    func plays(_ timeline: LinkTimeline) throws {
        let player = try LinkTimelinePlayer(timeline)
        try player.play()
        let problems = timeline.problems(player.seen, player.events)
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }

    @Test("each expectation counts: one that is changed or missing is noticed", arguments: LinkTimeline.all)
    func notices(_ timeline: LinkTimeline) throws {
        let player = try LinkTimelinePlayer(timeline)
        try player.play()
        func isNoticed(_ change: (inout LinkTimeline) -> Void) -> Bool {
            var changed = timeline
            change(&changed)
            return !changed.problems(player.seen, player.events).isEmpty
        }
        for (index, datagram) in timeline.datagrams.enumerated() where datagram.optional != true {
            let isFollowed = timeline.datagrams.dropFirst(index + 1).contains { $0.optional == true }
            #expect(isFollowed || isNoticed { $0.datagrams.remove(at: index) }, "without \(datagram)")
            #expect(isNoticed { $0.datagrams[index].kind = "retry" }, "another kind than of \(datagram)")
            #expect(isNoticed { $0.datagrams[index].to = "elsewhere" }, "elsewhere than \(datagram)")
            #expect(isNoticed { $0.datagrams[index].session = "another" }, "on another session than \(datagram)")
            let late = datagram.at.range.upperBound + 1
            #expect(isNoticed { $0.datagrams[index].at.range = late...late }, "later than \(datagram)")
            for (place, frame) in (datagram.frames ?? []).enumerated() {
                for field in frame.keys {
                    #expect(
                        isNoticed { $0.datagrams[index].frames?[place][field] = "4294967295" },
                        "another \(field) than of \(datagram)")
                }
            }
        }
        for (index, event) in timeline.events.enumerated() {
            #expect(isNoticed { $0.events.remove(at: index) }, "without \(event)")
            #expect(isNoticed { $0.events[index].at += 1 }, "later than \(event)")
        }
    }
}
