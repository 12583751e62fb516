import InklingWire
import Testing

@testable import InklingCore

/// The presence that a node reports.
@Suite("Presence")
struct PresenceTests {
    /// Makes a node with shown links to some people, given by identity. Several links of one identity are its devices.
    private func stage(_ identities: [Int], chat: ChatID = World.chat) -> (LinkStage, [LinkID]) {
        var stage = LinkStage(isShown: true)
        var ids: [LinkID] = []
        for (index, identity) in identities.enumerated() {
            stage.with { endpoint, now in
                let made = endpoint.make(
                    PersonID(chat: chat, key: World.key(identity)), run: UInt64(200 + index),
                    EpochPair(own: 0, peer: 0), at: World.address(20 + index), now)
                guard let id = made else { return }
                var session = Session(
                    localIndex: UInt32(300 + index), remoteIndex: UInt32(400 + index), role: .responder,
                    keys: LinkStage.keys.node, address: World.address(20 + index), now: now)
                session.opened(order: 1, isNewest: true, now: now)
                endpoint.join(session, to: id, now)
                endpoint.comeUp(id, now)
                let record = Record(number: 0, type: .name, body: Array("Name \(identity)".utf8))
                _ = endpoint.links[id].receive(.record(record), nil, &endpoint.pools, endpoint.surroundings, now: now)
                endpoint.links[id].status.name = "Name \(identity)"
                endpoint.report(id, now)
                endpoint.finish()
                ids.append(id)
            }
        }
        return (stage, ids)
    }

    /// Applies a status from a link's peer.
    private func say(_ stage: inout LinkStage, _ id: LinkID, typing: Bool = false, away: Bool = false, counter: UInt32)
    {
        stage.with { endpoint, now in
            _ = endpoint.links[id].status.receive(
                Status(isTyping: typing, isAway: away), counter: counter, isBehind: false, now: now)
            endpoint.report(id, now)
            endpoint.finish()
        }
    }

    @Test("T-26: after the reports of a user's command, changes within the same second are 20 at most")
    func paceAfterCommand() {
        var generator = Seeded(26)
        let people = (0..<30).map { _ in KeyPair(using: &generator).publicKey }
        var pace = ReportPace(now: .zero)
        for key in people.prefix(15) { #expect(pace.takeReport(of: key, .zero) == nil) }
        var anew = pace.begunAnew(.zero)
        for key in people.suffix(15) { #expect(anew.takeReport(of: key, .zero) == nil) }
        anew.resume(pace, .zero)
        let told = people.count { anew.takeReport(of: $0, .zero) == nil }
        #expect(told == Limits.presences)
    }

    private func lists(_ stage: LinkStage) -> [[PublicKey]] {
        stage.outputs.compactMap { if case .typing(_, let people) = $0.output { people.map(\.key) } else { nil } }
    }

    private func reports(_ stage: LinkStage, of identity: Int) -> [Presence] {
        stage.outputs.compactMap { output in
            guard case .presence(_, let person, let presence, _) = output.output, person.key == World.key(identity)
            else {
                return nil
            }
            return presence
        }
    }

    @Test(
        "Typists are listed with the latest start first, then by name, then by user ID; heartbeats change nothing (T-20)"
    )
    func order() {
        var (stage, ids) = stage([4, 5, 6])
        say(&stage, ids[1], typing: true, counter: 1)
        stage.run(.ms(100))
        say(&stage, ids[2], typing: true, counter: 1)
        say(&stage, ids[0], typing: true, counter: 1)
        #expect(lists(stage).last == [World.key(4), World.key(6), World.key(5)])
        let count = lists(stage).count
        stage.run(.ms(100))
        say(&stage, ids[1], typing: true, counter: 2)
        #expect(lists(stage).count == count)
    }

    @Test("What the node's own user causes is reported at once (T-27)")
    func own() {
        var (stage, ids) = stage([4])
        for step in 0..<50 { say(&stage, ids[0], away: step % 2 == 0, counter: UInt32(step + 1)) }
        stage.with { $0.block(World.key(4).userID, now: $1) }
        #expect(reports(stage, of: 4).last == .offline)
    }

    @Test("A person who goes offline keeps the name shown last (T-28)")
    func lastName() {
        var (stage, ids) = stage([4, 4])
        stage.with { endpoint, now in
            endpoint.links[ids[0]].status.name = "First"
            endpoint.links[ids[1]].status.name = "Second"
            endpoint.report(ids[1], now)
            endpoint.links[ids[0]].liveness.goDown(now)
            endpoint.forget(ids[1], .silence, .silence, now)
        }
        guard case .presence(_, let person, let presence, _) = stage.outputs.last?.output else {
            Issue.record("no presence is reported")
            return
        }
        #expect(presence == .offline && person.name == "Second")
    }

    @Test("A message and an invite on an older link have the name of the link made last (T-28)")
    func newestName() {
        var (stage, ids) = stage([4, 4])
        stage.with { endpoint, now in
            endpoint.links[ids[1]].status.name = "Second"
            endpoint.report(ids[1], now)
            endpoint.deliver(.message("hello"), from: ids[0])
            endpoint.deliver(.invite(nil), from: ids[0])
        }
        let names = stage.outputs.compactMap { output -> String? in
            switch output.output {
            case .message(_, let person, _, _, _), .invite(_, let person, _): person.name
            default: nil
            }
        }
        #expect(names == ["Second", "Second"])
    }

    @Test("A command in one chat reports nothing that waits in another (T-26)")
    func otherChat() {
        var (stage, ids) = stage([4])
        for step in 0..<51 { say(&stage, ids[0], away: step % 2 == 0, counter: UInt32(step + 1)) }
        let before = reports(stage, of: 4).count
        stage.with { try? $0.join(World.other, isSecret: false, now: $1) }
        stage.with { try? $0.leave(World.other.id, now: $1) }
        #expect(reports(stage, of: 4).count == before)
    }

    @Test("A command leaves the budgets of its chat as they were (T-22, T-26)")
    func budgets() {
        var (stage, ids) = stage([4, 5])
        for step in 0..<51 { say(&stage, ids[0], away: step % 2 == 0, counter: UInt32(step + 1)) }
        stage.with { $0.block(World.key(5).userID, now: $1) }
        let before = reports(stage, of: 4).count
        for step in 51..<81 { say(&stage, ids[0], away: step % 2 == 0, counter: UInt32(step + 1)) }
        #expect(reports(stage, of: 4).count == before)
    }

    @Test("When a link ends, failed messages come first, then typing, then presence (T-29)")
    func endOrder() {
        var stage = LinkStage(isShown: true)
        stage.receive([.typingOn])
        stage.with { _ = try? $0.send("lost", to: World.chat, now: $1) }
        let before = stage.outputs.count
        stage.receive([.bye(.quit)])
        let kinds = stage.outputs[before...].compactMap { output -> String? in
            switch output.output {
            case .presence(_, _, _, let reason): "presence \(reason)"
            case .typing: "typing"
            case .failed(_, _, _, let reason): "failed \(reason)"
            case .send, .delivered, .message, .invite, .keepWill, .dropWill, .peerIsOneself, .successor, .newcomer,
                .otherSuccessor,
                .reachable, .unreachable, .left:
                nil
            }
        }
        #expect(kinds == ["failed bye", "typing", "presence bye"])
    }

    @Test("Typing in one chat touches no other, and a name change reaches all chats (T-4, M-24)")
    func chats() {
        let lan = TestLAN()
        lan.start(0, chats: [World.lobby, World.other])
        lan.start(1, chats: [World.lobby, World.other])
        lan.listAll()
        for id in 0..<2 { lan.list(id, to: 1 - id, name: "o\(id)", in: World.other.id) }
        lan.run(.seconds(2))
        #expect(lan.links(0, to: 1).count == 1 && lan.links(0, to: 1).first?.isShown == true)
        #expect(lan.link(0, to: 1, in: World.other.id)?.isShown == true)
        lan.compose(0, "x")
        lan.run(.ms(5))
        #expect(lan.typists(at: 1) == [World.key(0)] && lan.typists(at: 1, in: World.other.id).isEmpty)
        lan.with(0) { $0.rename("Renamed", now: $1) }
        lan.run(.seconds(2))
        for chat in [World.chat, World.other.id] {
            #expect(lan.nodes[1]?.endpoint.present(in: chat).first?.person.name == "Renamed")
        }
        // A node that leaves a chat and joins it again keeps its run (L-58).
        let run = lan.nodes[0]?.endpoint.run(in: World.other.id)
        lan.with(0) { try? $0.leave(World.other.id, now: $1) }
        lan.run(.ms(5))
        #expect(lan.nodes[1]?.endpoint.present(in: World.other.id).isEmpty == true && lan.isUp(0, to: 1))
        lan.with(0) { try? $0.join(World.other, isSecret: false, now: $1) }
        #expect(
            lan.nodes[0]?.endpoint.run(in: World.other.id) == run && run != lan.nodes[0]?.endpoint.run(in: World.chat))
        lan.list(1, to: 0, name: "o1", in: World.other.id)
        lan.run(.seconds(3))
        #expect(lan.link(0, to: 1, in: World.other.id)?.isShown == true)
    }

    @Test("A user who does not announce typing sends none (typing.md)")
    func silentTyping() {
        let lan = TestLAN.pair { $0.sendsTyping = false }
        lan.compose(0, "x")
        lan.run(.seconds(2))
        #expect(lan.typists(at: 1).isEmpty)
    }
}
