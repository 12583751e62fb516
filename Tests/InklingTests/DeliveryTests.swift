import Inkling
import InklingModel
import Testing

/// The waits of a program that sends a message and exits.
@Suite("Waiting for others, and for what becomes of a message", .serialized, .timeLimit(.minutes(1)))
struct DeliveryTests {
    @Test("who comes is waited for, until nobody further does")
    func others() async throws {
        let alice = try await NodeTests.node("Alice")
        #expect(await alice.waitForOthers(in: "lobby", within: .milliseconds(50)).isEmpty)
        #expect(await alice.waitForOthers(in: "nowhere", within: .seconds(30)).isEmpty)
        async let found = alice.waitForOthers(in: "lobby", within: .seconds(30))
        let bob = try await NodeTests.node("Bob", peers: [alice])
        let dora = try await NodeTests.node("Dora", peers: [alice])
        #expect(await found.map(\.name) == ["Bob", "Dora"])
        // The wait also finds people who are present already.
        let start = ContinuousClock.now
        #expect(await alice.waitForOthers(in: "lobby", within: .seconds(30)).map(\.name) == ["Bob", "Dora"])
        #expect(start.duration(to: .now) >= NodeLimits.settling)
        for node in [bob, dora] { await node.stop() }
        async let nobody = alice.waitForOthers(in: "lobby", within: .seconds(30))
        await alice.stop()
        #expect(await nobody.isEmpty)
    }

    // R25
    @Test("the outcome of a message says who has it")
    func delivered() async throws {
        try await NodeTests.withPair { alice, bob in
            let outcome = try await alice.deliver("hello", to: "lobby", within: .seconds(30))
            #expect(outcome.recipients == 1 && outcome.reachedAll)
            #expect(outcome.delivered.map(\.user) == [bob.user])
            #expect(outcome.failed.isEmpty && outcome.unanswered.isEmpty)
            await #expect(throws: NodeError.messageEmpty) {
                try await alice.deliver("", to: "lobby", within: .seconds(30))
            }
        }
    }

    // R25
    @Test("whoever leaves before a message came has not got it; whoever says nothing has not answered")
    func unanswered() async throws {
        let alice = try await NodeTests.node("Alice")
        let bob = try await NodeTests.node("Bob", peers: [alice])
        _ = await alice.waitForOthers(in: "lobby", within: .seconds(30))
        // The time is too short for an answer.
        let none = try await alice.deliver("hello", to: "lobby", within: .zero)
        #expect(none.recipients == 1)
        #expect(none.delivered.count + none.unanswered.count == 1)
        // When its own node leaves the chat, the message fails for the others.
        async let left = alice.deliver(String(repeating: "x", count: 65_536), to: "lobby", within: .seconds(30))
        while await alice.statistics().messagesSent < 2 { try await Task.sleep(for: .milliseconds(1)) }
        try await alice.leave("lobby")
        let outcome = try await left
        #expect(outcome.delivered.count + outcome.failed.count == 1)
        #expect(outcome.failed.allSatisfy { $0.why == .left && $0.peer.user == bob.user })
        await alice.stop()
        await bob.stop()
    }
}
