import Foundation
import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// A case of `Protocol/vectors/timelines.json`.
struct Timeline: Decodable, Sendable, CustomTestStringConvertible {
    struct Input: Decodable, Sendable {
        let at: Int
        let `do`: String?
        let text: String?
        let counter: UInt64?
        let typing: Bool?
        let bye: Bool?
        let block: Bool?
    }

    struct Expected: Decodable, Sendable {
        let at: Int
        let typing: Bool?
        let copy: Bool?
        let with: String?
        let shown: Bool?
    }

    let name: String
    let clauses: [String]
    let inputs: [Input]
    let expect: [Expected]
    let until: Int

    var testDescription: String { "\(name) (\(clauses.joined(separator: ", ")))" }

    struct File: Decodable, Sendable {
        var sender: [Timeline] = []
        var receiver: [Timeline] = []
    }

    static let file: File = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let url = folder.appendingPathComponent("../../../Protocol/vectors/timelines.json")
        return (try? JSONDecoder().decode(File.self, from: Data(contentsOf: url))) ?? File()
    }()
}

@Suite("Timelines of Protocol/vectors")
struct TimelineVectorTests {
    @Test("the file of timelines is there, with both directions")
    func present() {
        #expect(Timeline.file.sender.count >= 25)
        #expect(Timeline.file.receiver.count >= 18)
    }

    @Test("a node sends the typing frames of the timeline (T-3 to T-10, M-9)", arguments: Timeline.file.sender)
    func sender(_ timeline: Timeline) throws {
        let peer = try ScriptedPeer.linked()
        peer.acknowledges = true
        peer.sign = [.pong(1)]
        let lan = peer.lan
        let start = lan.now.milliseconds
        var field = ""
        for input in timeline.inputs {
            peer.run(until: start + input.at)
            switch input.do {
            case "compose":
                field = input.text ?? ""
                lan.compose(0, field)
            case "send":
                lan.send(0, field.isEmpty ? "some text" : field)
                field = ""
            case "away":
                lan.perform(0) { $0.setAway(true, now: $1) }
            default:
                Issue.record("an unknown input: \(input)")
            }
        }
        peer.run(until: start + timeline.until)
        let sent = peer.typingFrames.map { "\($0.at - start) \($0.typing)\($0.withMessage ? " with message" : "")" }
        let expected = timeline.expect.map {
            "\($0.at) \($0.typing ?? false)\($0.with == "message" ? " with message" : "")"
        }
        #expect(sent == expected)
        let starts = timeline.expect.count { $0.typing == true && $0.copy == false }
        #expect(lan.hosts[0].endpoint.counters.typingStartsSent == starts)
    }

    @Test("a node shows what the timeline says (T-13 to T-16)", arguments: Timeline.file.receiver)
    func receiver(_ timeline: Timeline) throws {
        let peer = try ScriptedPeer.linked()
        let taken = Set(timeline.inputs.compactMap(\.counter))
        let start = peer.now
        var highest: UInt64 = 0
        // Pings under counters that the timeline leaves free keep the link up.
        func live(until end: Int) {
            while peer.now < end {
                peer.run(until: min(end, peer.now + 1_000))
                var counter = highest + 1
                while taken.contains(counter) { counter += 1 }
                guard peer.now < end else { return }
                highest = counter
                peer.send([.ping(9)], counter: counter)
            }
        }
        for input in timeline.inputs {
            live(until: start + input.at)
            if let counter = input.counter {
                highest = max(highest, counter)
                peer.send(typing: input.typing ?? false, counter: counter)
            } else if input.bye == true {
                peer.send([.bye(.quit)], counter: 1_000_000)
            } else if input.block == true {
                peer.lan.perform(0) { $0.block(peer.identity.publicKey.userID, now: $1) }
            }
        }
        live(until: start + timeline.until)
        #expect(
            peer.shown.map { "\($0.at - start) \($0.shown)" } == timeline.expect.map { "\($0.at) \($0.shown ?? false)" }
        )
    }
}
