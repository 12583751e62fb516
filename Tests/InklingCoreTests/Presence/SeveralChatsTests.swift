import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Several chats")
struct SeveralChatsTests {
    private static let lobby = VirtualLAN.lobby
    private static let kitchen = ChatKeys(openName: "kitchen")
    private static let cellar = ChatSecret([UInt8](repeating: 7, count: 16)).map { ChatKeys(secret: $0) } ?? lobby
    private static let chats = [lobby, kitchen, cellar]

    /// Two nodes in three chats, at rest.
    private func nodes() -> VirtualLAN {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Alice", chats: Self.chats)
        lan.add(identity: 1, name: "Bob", chats: Self.chats)
        for chat in Self.chats { lan.discoverAll(in: chat) }
        lan.run(until: .at(1_000))
        lan.forget()
        return lan
    }

    @Test("typing in one chat shows nothing in another, whatever happens in that (R8, T-4)")
    func isolated() {
        let lan = nodes()
        lan.compose(0, "h", in: Self.kitchen)
        lan.run(for: .seconds(1))
        lan.compose(0, "hi", in: Self.kitchen)
        #expect(lan.typing(1, in: Self.kitchen).map(\.names) == [["Alice"]])
        lan.compose(0, "x", in: Self.lobby)
        lan.run(for: .milliseconds(100))
        lan.compose(0, "", in: Self.lobby)
        lan.run(for: .milliseconds(100))
        lan.send(0, "hello", in: Self.lobby)
        lan.run(for: .milliseconds(100))
        lan.perform(0) { try? $0.leave(Self.lobby.tag, now: $1) }
        lan.run(for: .milliseconds(100))
        #expect(lan.typing(1, in: Self.kitchen).map(\.names) == [["Alice"]])
        #expect(lan.typing(1, in: Self.lobby).map(\.names) == [["Alice"], []])
        #expect(lan.typing(1, in: Self.cellar).isEmpty)
        lan.run(for: .seconds(5))
        #expect(lan.typing(1, in: Self.kitchen).map(\.at) == [1_000, 2_000 + 2_900])
    }

    @Test("all statuses of another chat say that nobody types, on sessions and streams of its own (R8, T-2, M-3)")
    func statuses() throws {
        let lan = VirtualLAN()
        lan.add(identity: 0, chats: Self.chats)
        let peers = Self.chats.enumerated().map { ScriptedPeer(lan, host: 100 + $0.offset, chat: $0.element) }
        for peer in peers { try peer.meet() }
        #expect(Set(peers.map(\.heldStream)).count == 3)
        for step in 0..<30 {
            lan.compose(0, "\(step)", in: Self.kitchen)
            lan.run(for: .milliseconds(100))
            for peer in peers where step % 10 == 9 { peer.send([.ping(UInt16(step))]) }
        }
        for (place, peer) in peers.enumerated() {
            peer.poll()
            let statuses = peer.seen.filter { $0.at > .zero }.flatMap(\.frames).compactMap(\.status)
            #expect(statuses.count > 3)
            #expect(statuses.allSatisfy { $0.isTyping == (place == 1) })
        }
    }

    @Test("starts are held back within a chat, not across chats (T-5)")
    func startsPerChat() {
        let lan = nodes()
        for (place, chat) in Self.chats.enumerated() {
            lan.compose(0, "h", in: chat)
            lan.run(for: .milliseconds(1))
            #expect(lan.typing(1, in: chat).map(\.at) == [1_000 + place])
        }
    }

    @Test(
        "going away, suspending and quitting end typing in all chats at once (R6, T-10)",
        arguments: ["away", "suspend", "quit"])
    func everywhere(_ command: String) {
        let lan = nodes()
        for chat in Self.chats { lan.compose(0, "h", in: chat) }
        lan.run(for: .milliseconds(700))
        lan.perform(0) {
            switch command {
            case "away": $0.setAway(true, now: $1)
            case "suspend": $0.suspend(now: $1)
            default: $0.quit(now: $1)
            }
        }
        lan.run(for: .milliseconds(1))
        for chat in Self.chats { #expect(lan.typing(1, in: chat).map(\.at) == [1_000, 1_700]) }
    }

    @Test(
        "opening another chat ends typing in the one before, and coming back with the old draft is no start (R6, T-4)")
    func switching() {
        let lan = nodes()
        lan.compose(0, "draft", in: Self.lobby)
        lan.run(for: .milliseconds(700))
        lan.perform(0) { try? $0.stopTyping(in: Self.lobby.tag, now: $1) }
        lan.compose(0, "k", in: Self.kitchen)
        lan.run(for: .milliseconds(1))
        #expect(lan.typing(1, in: Self.lobby).map(\.names) == [["Alice"], []])
        #expect(lan.typing(1, in: Self.kitchen).map(\.names) == [["Alice"]])
    }

    @Test("a block holds in all chats, and leaving one chat ends one alone (R13, L-36)")
    func block() {
        let lan = nodes()
        for chat in Self.chats { lan.compose(1, "h", in: chat) }
        lan.run(for: .milliseconds(100))
        lan.perform(0) { try? $0.leave(Self.cellar.tag, now: $1) }
        #expect(lan.typing(0, in: Self.cellar).map(\.names) == [["Bob"], []], "whoever is no longer a member")
        #expect(lan.typing(0, in: Self.lobby).map(\.names) == [["Bob"]])
        #expect(lan.hosts[0].endpoint.typing(in: Self.cellar.tag).isEmpty)
        let bob = lan.hosts[1].endpoint.publicKey.userID
        lan.perform(0) { $0.block(bob, now: $1) }
        for chat in Self.chats { #expect(lan.typing(0, in: chat).map(\.names) == [["Bob"], []]) }
        lan.run(for: .milliseconds(1))
        for chat in Self.chats { #expect(lan.online(1, in: chat).isEmpty) }
    }

    @Test("messages of one chat reach that chat alone, and each is reported (R8, R25, M-17)")
    func messages() {
        let lan = nodes()
        for number in 0..<30 { lan.send(0, "\(number)", in: Self.chats[number % 3]) }
        lan.run(for: .seconds(1))
        for (place, chat) in Self.chats.enumerated() {
            let texts = lan.hosts[1].log.compactMap { entry -> String? in
                guard case .message(chat.tag, _, _, let text) = entry.output else { return nil }
                return text
            }
            #expect(texts == stride(from: place, to: 30, by: 3).map { "\($0)" })
        }
        #expect(lan.outcomes(0).map(\.message).sorted() == Array(1...30))
    }

    @Test("who is in no common chat sees nothing, and an unknown chat is an error (R12)")
    func unknown() {
        let lan = nodes()
        let third = lan.add(identity: 2, name: "Carol", chats: [ChatKeys(openName: "elsewhere")])
        lan.discoverAll()
        lan.run(for: .seconds(5))
        #expect(lan.hosts[third].log.isEmpty)
        let tag = ChatKeys(openName: "nowhere").tag
        lan.perform(0) { endpoint, now in
            #expect(throws: CommandError.unknownChat) { try endpoint.compose("h", in: tag, now: now) }
            #expect(throws: CommandError.unknownChat) { try endpoint.startTyping(in: tag, now: now) }
            #expect(throws: CommandError.unknownChat) { try endpoint.stopTyping(in: tag, now: now) }
            #expect(throws: CommandError.unknownChat) { try endpoint.send("h", to: tag, now: now) }
            #expect(throws: CommandError.unknownChat) { try endpoint.leave(tag, now: now) }
            #expect(throws: CommandError.chatExists) { try endpoint.join(Self.lobby, now: now) }
            #expect(endpoint.typing(in: tag).isEmpty)
            #expect(endpoint.present(in: tag).isEmpty)
        }
    }

    @Test("a thousand times joining and leaving leaves nothing behind (R27)")
    func joinAndLeave() {
        let lan = nodes()
        let before = lan.hosts[0].endpoint.tableSizes
        let chat = ChatKeys(openName: "briefly")
        for _ in 0..<1_000 {
            lan.perform(0) { endpoint, now in
                try? endpoint.join(chat, now: now)
                try? endpoint.compose("h", in: chat.tag, now: now)
                try? endpoint.leave(chat.tag, now: now)
            }
        }
        #expect(lan.hosts[0].endpoint.tableSizes == before)
        for chat in Self.chats { #expect(lan.online(0, in: chat) == ["Bob"]) }
    }
}
