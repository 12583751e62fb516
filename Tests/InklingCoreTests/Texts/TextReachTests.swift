import InklingWire
import Testing

@testable import InklingCore

@Suite("Who is there for a text, over the life of links")
struct TextReachTests {
    private let lan = TestLAN()

    init() {
        for node in [0, 1] { start(node) }
        lan.listAll()
        // A link that was up for less than 10 s would be forgotten at once (L-84).
        lan.run(.seconds(13))
    }

    private func start(_ node: Int, identity: Int? = nil, keepsTexts: Bool = true) {
        lan.start(node, identity: identity, chats: [])
        lan.with(node) { try? $0.join(World.lobby, isSecret: false, keepsTexts: keepsTexts, now: $1) }
    }

    private static func id(_ number: UInt64) -> TextID { TextID(run: 77, number: number, written: 0) }

    private func resend(_ number: UInt64) {
        lan.with(0) { _ = try? $0.resend("\(number)", Self.id(number), to: World.key(1), in: World.chat, now: $1) }
    }

    /// Passes all texts that a node put out since an instant to its disk.
    private func keepAll(_ node: Int, since: Instant = .zero) {
        let numbers = lan.outputs(node, since: since).compactMap {
            if case .message(_, _, let number, _, _) = $0 { number } else { nil }
        }
        lan.with(node) { $0.textsKept(numbers, now: $1) }
    }

    /// The outputs of the writer about its messages and their recipient.
    private func reports(since: Instant) -> [String] {
        lan.outputs(0, since: since).compactMap { output in
            switch output {
            case .reachable: "reachable"
            case .unreachable: "unreachable"
            case .left: "left"
            case .failed(_, _, _, let reason): "failed \(reason)"
            case .delivered: "delivered"
            case .presence(_, _, let presence, let reason): "\(presence) \(reason)"
            default: nil
            }
        }
    }

    // MARK: Up and down

    @Test("M-86: a text on a link that goes down and comes up again goes out once, although its writer sends it twice")
    func pause() {
        let start = lan.now
        lan.cuts = [[0, 1], [1, 0]]
        resend(1)
        lan.run(.seconds(5))
        #expect(reports(since: start) == ["unreachable", "offline silence"])
        #expect(lan.nodes[0]?.endpoint.reachable(in: World.chat) == [])
        #expect(lan.nodes[0]?.endpoint.recipients(in: World.chat) == [World.key(1)])
        resend(2)
        let back = lan.now
        lan.cuts = []
        lan.run(.seconds(4))
        #expect(reports(since: back).prefix(1) == ["reachable"])
        resend(1)
        resend(2)
        lan.run(.seconds(1))
        keepAll(1)
        lan.run(.seconds(1))
        #expect(lan.messages(at: 1) == ["1", "2"] && lan.counters(1).textsRepeated == 0)
        #expect(reports(since: back).filter { $0 == "delivered" }.count == 2)
    }

    @Test("M-17, M-86: a text fails when its link is forgotten, and its person is unreachable from 3 s of silence on")
    func silence() {
        let start = lan.now
        resend(1)
        lan.kill(1)
        lan.run(.seconds(4))
        #expect(reports(since: start) == ["unreachable", "offline silence"])
        lan.run(.seconds(60))
        #expect(reports(since: start) == ["unreachable", "offline silence", "failed silence"])
    }

    @Test("M-86: with another link up the person stays reachable")
    func otherDevice() {
        start(2, identity: 1)
        lan.listAll()
        lan.run(.seconds(13))
        let start = lan.now
        lan.kill(1)
        lan.run(.seconds(5))
        #expect(!reports(since: start).contains("unreachable"))
        lan.kill(2)
        lan.run(.seconds(5))
        #expect(reports(since: start).contains("unreachable"))
    }

    @Test("L-32: a person who leaves the chat is told from one whose program quits, before all effects of the bye")
    func leaving() {
        resend(1)
        lan.run(.ms(100))
        let start = lan.now
        lan.with(1) { try? $0.leave(World.chat, now: $1) }
        lan.run(.ms(100))
        #expect(reports(since: start) == ["left", "failed bye", "unreachable", "offline bye"])
    }

    @Test("L-32: a person whose program quits, or who leaves with one of two devices, has not left")
    func quitting() {
        start(2, identity: 1)
        lan.listAll()
        lan.run(.seconds(3))
        let start = lan.now
        lan.with(1) { try? $0.leave(World.chat, now: $1) }
        lan.run(.ms(100))
        lan.with(2) { $0.quit(now: $1) }
        lan.run(.ms(100))
        #expect(reports(since: start) == ["unreachable", "offline bye"])
    }

    // MARK: Order

    @Test("M-84: a link that lacks an older text gets no newer one, until its owner sends them in order")
    func behind() {
        lan.kill(1)
        resend(1)
        start(2, identity: 1)
        lan.listAll()
        lan.run(.seconds(2))
        lan.with(0) {
            _ = try? $0.send("2", to: World.chat, ids: [World.key(1): Self.id(2)], now: $1)
        }
        lan.run(.ms(500))
        #expect(lan.messages(at: 2).isEmpty)
        for number in [2, 1, 2] as [UInt64] { resend(number) }
        lan.run(.ms(500))
        #expect(lan.messages(at: 2) == ["1", "2"])
    }

    // MARK: A slow disk

    @Test("M-11, M-82: texts that are not kept repeat no faster than the timer, and are not given up within 30 s")
    func slowDisk() {
        for number in 1...20 as ClosedRange<UInt64> { resend(number) }
        let start = lan.now
        lan.run(.seconds(29))
        // The congestion window stays as it was (M-34).
        #expect(lan.messages(at: 1).count == 5)
        #expect(reports(since: start).isEmpty)
        let repeats = lan.counters(0).retransmissions
        #expect((20...60).contains(repeats), "\(repeats)")
        let sent = lan.sent(by: 1, .ack, since: start).count
        #expect(sent <= repeats + 20, "\(sent)")
        for _ in 0..<20 {
            keepAll(1)
            lan.run(.ms(100))
        }
        #expect(reports(since: start) == Array(repeating: "delivered", count: 20))
        #expect(lan.counters(0).retransmissions - repeats <= 20)
    }

    @Test("M-19, M-84: texts that no disk keeps for 30 s fail, go out again, and show once")
    func brokenDisk() {
        resend(1)
        let start = lan.now
        for _ in 0..<5 {
            lan.run(.seconds(31))
            #expect(reports(since: start).contains("failed stalled"))
            resend(1)
        }
        lan.run(.seconds(1))
        #expect(lan.messages(at: 1) == ["1"] && lan.nodes[1]?.endpoint.texts.copyCount == 1)
        keepAll(1)
        lan.run(.seconds(2))
        #expect(reports(since: start).last == "delivered")
        #expect(lan.messages(at: 1) == ["1"] && lan.nodes[1]?.endpoint.texts.copyCount == 0)
    }

    // MARK: Switching

    @Test("M-82, M-87: a node that ceases to keep texts acknowledges all; one that begins reports who is there")
    func switching() {
        resend(1)
        resend(2)
        let start = lan.now
        lan.run(.ms(500))
        #expect(reports(since: start).isEmpty && lan.messages(at: 1) == ["1", "2"])
        lan.with(1) { try? $0.setKeepsTexts(false, in: World.chat, now: $1) }
        lan.run(.ms(50))
        #expect(reports(since: start) == ["delivered", "delivered"])
        resend(3)
        lan.run(.ms(50))
        #expect(reports(since: start).count == 3)
        let seen = SeenTexts(runs: [.init(run: 77, highest: 9, below: 0)])
        lan.with(1) { try? $0.setKeepsTexts(true, in: World.chat, seen: [World.key(0): seen], now: $1) }
        #expect(lan.outputs(1).last == .reachable(World.chat, World.key(0)))
        resend(9)
        lan.run(.ms(50))
        #expect(reports(since: start).count == 4 && lan.messages(at: 1) == ["1", "2", "3"])
    }

    @Test("M-84: a text that its user gives up leaves the queue if none of its records was sent, and has no outcome")
    func withdrawal() {
        lan.cuts = [[0, 1], [1, 0]]
        resend(1)
        let start = lan.now
        lan.run(.seconds(4))
        resend(2)
        resend(3)
        lan.with(0) { endpoint, now in
            let unsent = ([1, 2, 9] as [UInt64]).map {
                endpoint.withdraw(Self.id($0), to: World.key(1), in: World.chat, now: now)
            }
            #expect(unsent == [false, true, true])
        }
        lan.cuts = []
        lan.run(.seconds(4))
        keepAll(1)
        lan.run(.seconds(1))
        #expect(lan.messages(at: 1) == ["1", "3"])
        #expect(reports(since: start).filter { $0 == "delivered" || $0.hasPrefix("failed") } == ["delivered"])
    }
}
