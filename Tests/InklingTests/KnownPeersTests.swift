import Foundation
import Inkling
import InklingWire
import ProcessSupport
import Testing

typealias TemporaryFolder = ProcessSupport.TemporaryFolder

@Suite("Known peers")
struct KnownPeersTests {
    /// Returns one of a fixed sequence of keys, the same in each run.
    static func key(_ number: Int) throws -> PublicKey {
        var bytes = [UInt8](repeating: 1, count: 32)
        bytes[0] = UInt8(number >> 8)
        bytes[1] = UInt8(number & 0xFF)
        return try #require(PublicKey(bytes))
    }

    private static func sample() throws -> KnownPeers {
        var table = KnownPeersTable()
        table.met(try key(1), name: "Alice", chat: "a", at: 10)
        table.met(try key(2), name: "Bob \u{1b}\"\\/é", chat: "b", at: 20.25)
        table.met(try key(3), name: "Carol", at: 15, for: .milliseconds(654_321))
        table.peers.setAddresses(["192.0.2.1:4000", "[fe80::1%eth0]:4000"], of: try key(1), in: "a")
        table.peers.setAddresses(["192.0.2.2:4000"], of: try key(1), in: "a chat where they never met")
        table.verify(try key(1), at: 30)
        table.block(try key(2), at: 31)
        return table.peers
    }

    @Test("what is written is read again, to the byte")
    func roundTrip() throws {
        let peers = try Self.sample()
        #expect(KnownPeers.read(peers.encoded()) == .peers(peers))
        let known = try #require(peers[try Self.key(1)]).known
        #expect(peers[try Self.key(1)]?.addresses == ["a": ["192.0.2.1:4000", "[fe80::1%eth0]:4000"]])
        #expect(known.names == ["Alice"] && known.firstSeen == 10 && known.isVerified && !known.isBlocked)
    }

    @Test("every truncation is damaged, and so is everything that this program does not write")
    func damaged() throws {
        let bytes = try Self.sample().encoded()
        for count in 0..<bytes.count - 2 { #expect(KnownPeers.read(Array(bytes.prefix(count))) == .damaged) }
        let text = String(decoding: bytes, as: UTF8.self)
        let key = try Self.key(1).base64url
        for (from, to) in [
            (key, String(key.dropLast())), (key, try Self.key(2).base64url), ("\"version\":2", "\"version\":0"),
            ("\"version\":2", "\"version\":1"), ("\"version\":2", "\"version\":\"2\""), ("\"Alice\"", "7"),
            ("\"Alice\"", "\"\(String(repeating: "x", count: 65))\""),
            ("\"is\":true", "\"is\":1"), ("\"number\":1", "\"number\":1e999"), ("\"number\":1", "\"number\":-1"),
            ("\"number\":1", "\"number\":4503599627370496"), ("\"days\":1", "\"days\":4503599627370496"),
            ("\"kept\":1", "\"kept\":4503599627370496"), ("\"kept\":1", "\"kept\":true"),
            ("\"togetherMilliseconds\":654321", "\"togetherMilliseconds\":4503599627370496"),
            ("\"togetherMilliseconds\":654321", "\"togetherMilliseconds\":0.5"),
            ("\"dayBegan\":10", "\"dayBegan\":-1"), ("\"dayBegan\":10", "\"dayBegan\":1e300"),
            ("\"firstSeen\":10", "\"firstSeen\":1e300"), ("\"lastSeen\":10", "\"lastSeen\":-1e300"),
            ("\"chats\":{\"a\":10}", "\"chats\":{\"a\":-0.001}"),
            ("\"named\":{\"allce\":10}", "\"named\":{\"allce\":253402300800}"),
        ] {
            #expect(text.contains(from))
            #expect(KnownPeers.read(Array(text.replacingOccurrences(of: from, with: to).utf8)) == .damaged, "\(to)")
        }
        #expect(KnownPeers.read(Array("{\"version\":3,\"people\":[]}".utf8)) == .newer)
    }

    @Test("a known name with another key is told once, whatever its case and width, and not of blocked ones")
    func namesakes() throws {
        var table = KnownPeersTable()
        let (alice, other, third) = (try Self.key(1), try Self.key(2), try Self.key(3))
        func expectMet(
            _ key: PublicKey, _ name: String, _ chat: String, _ time: Double, _ expected: [PublicKey],
            at location: SourceLocation = #_sourceLocation
        ) {
            let others = table.met(key, name: name, chat: chat, at: time)
            #expect(others == expected, sourceLocation: location)
        }
        expectMet(alice, "Alice", "a", 1, [])
        expectMet(alice, "Alice", "b", 2, [])
        expectMet(other, "ＡLICE ", "a", 3, [alice])
        expectMet(other, "ＡLICE ", "a", 4, [])
        expectMet(other, "alice", "a", 4, [])
        // As in labels, only letters, digits and look-alike characters count.
        expectMet(other, "@A1ice_", "a", 4, [])
        #expect(table.peers.namesakes(of: other, name: "Alice") == [alice])
        #expect(table.peers.namesakes(of: alice, name: "Alice").isEmpty, "whoever had the name first is nobody else")
        table.verify(other)
        #expect(table.peers.namesakes(of: alice, name: "Alice") == [other], "nor the verified one")
        table.verify(other, false)
        table.block(other)
        expectMet(third, "Alice", "a", 6, [alice])
        expectMet(third, "Bob", "a", 7, [])
        // A known person who takes another person's name also causes a warning.
        expectMet(alice, "Bob", "a", 8, [third])
        // People with empty names are not namesakes.
        expectMet(try Self.key(4), "", "a", 9, [])
        expectMet(try Self.key(5), "", "a", 9, [])
    }

    @Test("of several with one name the verified one is best known, then the one with the highest rank")
    func bestKnown() throws {
        var table = KnownPeersTable()
        let keys = try (1...4).map { try Self.key($0) }
        for key in keys.reversed() { table.met(key, name: "Alice", at: 1) }
        table.met(keys[1], name: "Alice", at: 2, for: .seconds(10))
        table.met(keys[0], name: "Alice", at: 90_000)
        #expect(table.peers.bestKnown(of: keys)?.key == keys[0])
        #expect(table.peers.bestKnown(of: [keys[3], keys[1], keys[2]])?.key == keys[1])
        table.verify(keys[2])
        #expect(table.peers.bestKnown(of: keys)?.key == keys[2])
        #expect(table.peers.bestKnown(of: []) == nil)
    }

    @Test("4 names and 32 chats of a key are kept")
    func bounds() throws {
        var table = KnownPeersTable()
        let key = try Self.key(500)
        for number in 0..<40 { table.met(key, name: "n\(number)", chat: "c\(number)", at: 2_000 + Double(number)) }
        #expect(table[key]?.names == ["n39", "n38", "n37", "n36"])
        #expect(table[key]?.chats.count == 32 && table[key]?.chats["c8"] == 2_008 && table[key]?.chats["c7"] == nil)
        #expect(table.peers.namesakes(of: try Self.key(501), name: "n0").isEmpty)
        try table.restart()
    }

    @Test("two tables that are brought together know the same, whichever came first")
    func merged() throws {
        var (first, second) = (KnownPeersTable(), KnownPeersTable())
        let (alice, bob) = (try Self.key(1), try Self.key(2))
        first.met(alice, name: "Alice", chat: "a", at: 10)
        second.met(alice, name: "Ali", chat: "b", at: 20)
        second.met(bob, name: "Bob", chat: "b", at: 5)
        first.verify(alice)
        second.block(bob)
        var (left, right) = (first, second)
        left.merge(second)
        right.merge(first)
        #expect(left == right)
        let entry = try #require(left[alice])
        #expect(entry.names == ["Ali", "Alice"] && entry.firstSeen == 10 && entry.lastSeen == 20)
        #expect(entry.chats == ["a": 10, "b": 20] && entry.isVerified && !entry.isBlocked)
        #expect(left.peers.seen(in: "b").map(\.time) == [20, 5] && left[bob]?.isBlocked == true)
    }

    // MARK: - The file

    @Test("the file is for the owner alone, and two nodes that share it lose nothing")
    func shared() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        #expect(file.read() == .missing)
        var (first, second) = (KnownPeersTable(), KnownPeersTable())
        first.met(try Self.key(1), name: "Alice", at: 1)
        second.met(try Self.key(2), name: "Bob", at: 2)
        #expect(file.save(first.peers) == .saved(first.peers))
        let both = try file.saved(second.peers)
        #expect(both.count == 2 && file.read() == .peers(both))
        #expect(directory.mode(KnownPeersFile.name) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [KnownPeersFile.name])
    }

    @Test("who only looks reads the file and the identity, and leaves what is damaged as it is")
    func peeking() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        var random = SystemRandomNumberGenerator()
        #expect(file.peek(using: &random) == nil && KeptIdentity.user(in: directory.path) == nil)
        var table = KnownPeersTable()
        table.met(try Self.key(1), name: "Alice", at: 1)
        #expect(file.save(table.peers) == .saved(table.peers))
        #expect(file.peek(using: &random) == table.peers)
        for damaged in ["", "{\"version\":2,"] {
            try directory.write(damaged, to: KnownPeersFile.name)
            try directory.write(damaged, to: "identity")
            #expect(file.peek(using: &random) == nil && KeptIdentity.user(in: directory.path) == nil)
            #expect(directory.text(KnownPeersFile.name) == damaged && directory.text("identity") == damaged)
        }
        let pair = try #require(KeyPair(privateKey: Array(repeating: 7, count: 32)))
        let text = String(decoding: Identity.text(of: pair), as: UTF8.self)
        try directory.write(text, to: "identity")
        #expect(try KeptIdentity.user(in: directory.path) == KeptIdentity.read(directory: directory.path)?.user)
    }

    @Test("a damaged file is moved aside, a later version's is left alone, and a link is not followed")
    func unreadable() throws {
        let directory = try TemporaryFolder()
        let file = KnownPeersFile(directory: directory.path)
        try directory.write("{\"version\":2,", to: KnownPeersFile.name)
        #expect(file.read() == .damaged && file.read() == .missing)
        #expect(directory.text(KnownPeersFile.damagedName) == "{\"version\":2,")

        try directory.write("{\"version\":3}", to: KnownPeersFile.name)
        #expect(file.read() == .newer && file.save(KnownPeers()) == .newer)
        #expect(directory.text(KnownPeersFile.name) == "{\"version\":3}")

        try FileManager.default.removeItem(atPath: "\(directory.path)/\(KnownPeersFile.name)")
        try directory.write("{}", to: "elsewhere")
        symlink("elsewhere", "\(directory.path)/\(KnownPeersFile.name)")
        #expect(file.read() == .unreadable(reason: "it is a link"))
        #expect(KnownPeersFile(directory: "/nowhere").read() == .unreadable(reason: "No such file or directory"))
    }

    // MARK: - Fingerprints

    // A-8
    @Test("both sides of a pair see the same fingerprint, and every other pair and key another")
    func fingerprints() throws {
        let keys = try (1...3).map { try Self.key($0) }
        let all = [
            Fingerprint(of: keys[0], and: keys[1]), Fingerprint(of: keys[0], and: keys[2]),
            Fingerprint(of: keys[1], and: keys[2]), Fingerprint(of: keys[0]), Fingerprint(of: keys[1]),
            Fingerprint(of: keys[0], and: keys[0]),
        ]
        #expect(Set(all).count == all.count)
        #expect(Set(all.map(\.groups)).count == all.count)
        for fingerprint in all {
            #expect(fingerprint.bytes.count == 32 && fingerprint.groups.count == 12)
            #expect(fingerprint.groups.allSatisfy { $0.count == 5 && $0.allSatisfy(\.isNumber) })
        }
    }
}

@Suite("Kept identity")
struct KeptIdentityTests {
    @Test("an identity that was exported is the same where it is imported")
    func transfer() throws {
        let (source, target) = (try TemporaryFolder(), try TemporaryFolder())
        #expect(try KeptIdentity.read(directory: source.path) == nil)
        #expect(try KeptIdentity.read(directory: "\(source.path)/missing") == nil)
        try KeyStore.open(directory: source.path).close()
        let identity = try #require(try KeptIdentity.read(directory: source.path))
        let copy = try KeptIdentity.replace(in: "\(target.path)/new", with: identity.text)
        #expect(copy.user == identity.user && copy.key == identity.key && copy.fingerprint == identity.fingerprint)
        #expect(try KeptIdentity.read(directory: "\(target.path)/new")?.text == identity.text)
        #expect(target.mode("new/identity") == 0o600)
    }

    @Test("an identity gives way to another by force alone, and never while a node uses it")
    func replacing() throws {
        let directory = try TemporaryFolder()
        let store = try KeyStore.open(directory: directory.path)
        let before = try #require(try KeptIdentity.read(directory: directory.path))
        let pair = try #require(KeyPair(privateKey: Array(repeating: 7, count: 32)))
        let text = String(decoding: Identity.text(of: pair), as: UTF8.self)
        #expect(throws: NodeError.stateDirectoryInUse(directory.path)) {
            try KeptIdentity.replace(in: directory.path, with: text, force: true)
        }
        store.close()
        #expect(throws: NodeError.identityExists(directory.path)) {
            try KeptIdentity.replace(in: directory.path, with: text)
        }
        for damaged in ["", "\(text)x", String(text.dropLast()), String(repeating: "x", count: 5_000)] {
            #expect(throws: NodeError.identityText) {
                try KeptIdentity.replace(in: directory.path, with: damaged, force: true)
            }
        }
        #expect(try KeptIdentity.read(directory: directory.path)?.text == before.text)
        let after = try KeptIdentity.replace(in: directory.path, with: text, force: true)
        #expect(after.user != before.user)
        #expect(try KeptIdentity.read(directory: directory.path)?.text == text)
    }

    @Test("a further device of the same person has the identity also while another holds the directory")
    func shared() throws {
        let directory = try TemporaryFolder()
        let made = try KeyStore.openShared(directory: directory.path)
        let holder = try KeyStore.open(directory: directory.path)
        #expect(holder.temporary == nil && holder.identity == made.identity)
        let further = try KeyStore.openShared(directory: directory.path)
        #expect(further.temporary == nil && further.identity == holder.identity)
        #expect(further.knownPeers?.directory == directory.path && further.knownPeers?.isWritable == true)
        // The node of the further device does not lock the directory. So the directory is free once `holder` ends.
        holder.close()
        #expect(try KeyStore.open(directory: directory.path).temporary == nil)
    }
}

extension NodeTests {
    /// Starts a node that keeps known people in a directory.
    static func keeping(
        _ name: String, in directory: TemporaryFolder, peers: [Node] = [],
        _ change: (inout Configuration) -> Void = { _ in }
    ) async throws -> Node {
        try await node(name, peers: peers) {
            $0.isEphemeral = false
            $0.stateDirectory = directory.path
            change(&$0)
        }
    }

    static func meet(_ node: Node, _ other: Node) async {
        _ = await first(of: node.presence(in: "lobby")) { peers in
            peers.contains { $0.key == other.key && $0.presence == .online }
        }
    }

    // R23
    @Test("who was met is known after a restart, with when they were last seen, in the chat where it was")
    func restart() async throws {
        let directory = try TemporaryFolder()
        var alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        try await alice.setVerified(true, key: bob.key)
        #expect(await alice.peer(bob.user, in: "lobby")?.isVerified == true)
        try await bob.setName("Bobby")
        let renamed = await NodeTests.first(of: alice.presence(in: "lobby")) { $0.first?.name == "Bobby" }
        #expect(renamed?.first?.names == ["Bobby", "Bob"] && renamed?.first?.presence == .online)
        #expect(alice.fingerprint(with: bob.key) == bob.fingerprint(with: alice.key))
        let before = Timestamp(rawValue: Date().timeIntervalSince1970)
        await alice.stop()
        let after = Timestamp(rawValue: Date().timeIntervalSince1970)
        await bob.stop()

        alice = try await NodeTests.keeping("Alice", in: directory)
        try await alice.join(Chat("elsewhere"))
        let peer = try #require(await alice.peer(bob.user, in: "lobby"))
        #expect(peer.presence == .offline && peer.name == "Bobby" && peer.isVerified && peer.namesakes.isEmpty)
        let lastSeen = try #require(peer.lastSeen)
        #expect(lastSeen > before - .milliseconds(10) && lastSeen < after - .milliseconds(-10))
        #expect(await alice.peers(in: "elsewhere").isEmpty)
        let known = try #require(await alice.knownPeer(key: bob.key))
        #expect(known.lastSeen == lastSeen && known.firstSeen < before && known.isVerified)
        #expect(await alice.allKnownPeers == [known])
        #expect(await alice.knownPeers(bob.user) == [known])
        await alice.stop()
    }

    @Test("after a restart a friend is found at the last address, without discovery and without a peer by hand (D-19)")
    func lastAddress() async throws {
        let directory = try TemporaryFolder()
        var alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        try await alice.setVerified(true, key: bob.key)
        await alice.stop()
        // Bob knows only Alice's old port, where no node listens now.
        alice = try await NodeTests.keeping("Alice", in: directory)
        await NodeTests.meet(alice, bob)
        await alice.stop()
        await bob.stop()
    }

    @Test("a stop keeps what was decided while an earlier save was under way, also in a task that was cancelled")
    func lastSave() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory) { $0.lastWill = false }
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        // Another node of this user holds the lock on the directory for a while.
        let other = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(other, LOCK_EX) == 0)
        try await alice.setVerified(true, key: bob.key)
        try await Task.sleep(for: .milliseconds(50))
        try await alice.setBlocked(true, key: bob.key)
        try await Task.sleep(for: .milliseconds(50))
        let release = Task {
            try? await Task.sleep(for: .milliseconds(400))
            close(other)
        }
        let stop = Task {
            while !Task.isCancelled { await Task.yield() }
            await alice.stop()
        }
        stop.cancel()
        await stop.value
        let kept = try #require(directory.text(KnownPeersFile.name))
        for decision in ["verified", "blocked"] {
            #expect(kept.contains("\"\(decision)\":{\"is\":true,\"number\":1}"), "\(kept)")
        }
        await release.value
        await bob.stop()
    }

    // R35
    @Test("what peers cause is written once, however many come and go; what the user decides is written at once")
    func savesSeldom() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        try await Task.sleep(for: KnownPeersLimits.saveDelay + .seconds(1))
        let first = try #require(directory.text(KnownPeersFile.name))
        #expect(first.contains("\(bob.key)"))
        let carol = try await NodeTests.node("Carol", peers: [alice])
        await NodeTests.meet(alice, carol)
        try await Task.sleep(for: KnownPeersLimits.saveDelay + .seconds(1))
        #expect(directory.text(KnownPeersFile.name) == first)
        try await alice.setVerified(true, key: bob.key)
        let decided = try #require(directory.text(KnownPeersFile.name))
        #expect(decided.contains("\"verified\":{\"is\":true") && decided.contains("\(carol.key)"))
        for node in [alice, bob, carol] { await node.stop() }
    }

    @Test("a save that finds the directory held is tried again")
    func heldDirectory() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        let other = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(other, LOCK_EX) == 0)
        try await alice.setVerified(true, key: bob.key)
        try await Task.sleep(for: KnownPeersLimits.lockPatience + .milliseconds(500))
        #expect(directory.text(KnownPeersFile.name) == nil)
        close(other)
        let end = ContinuousClock.now + .seconds(20)
        while directory.text(KnownPeersFile.name) == nil, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(directory.text(KnownPeersFile.name)?.contains("\"verified\":{\"is\":true") == true)
        await alice.stop()
        await bob.stop()
    }

    @Test("a node that ends while the directory is held says that nothing was kept")
    func heldAtEnd() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let events = await alice.events()
        try await alice.setBlocked(true, key: try KnownPeersTests.key(1))
        let other = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(other, LOCK_EX) == 0)
        try await alice.setBlocked(true, key: try KnownPeersTests.key(2))
        await alice.stop()
        close(other)
        var notices: [Notice] = []
        for await timed in events { if case .notice(let notice) = timed.event { notices.append(notice) } }
        #expect(
            notices.contains(
                .knownPeersUnkept(directory: directory.path, reason: "another program is using it")), "\(notices)")
    }

    @Test("time together is counted once over two chats, and added up over restarts")
    func timeTogether() async throws {
        let directory = try TemporaryFolder()
        let start = ContinuousClock.now
        var together = Duration.zero
        for isBobLast in [true, false] {
            let alice = try await NodeTests.node("Alice", chats: ["lobby", "kitchen"]) {
                $0.isEphemeral = false
                $0.stateDirectory = directory.path
            }
            let bob = try await NodeTests.node("Bob", peers: [alice], chats: ["lobby", "kitchen"]) {
                $0.isEphemeral = false
                $0.stateDirectory = "\(directory.path)/bob"
            }
            await NodeTests.meet(alice, bob)
            try await Task.sleep(for: .milliseconds(400))
            // Bob is still in the other chat.
            try await bob.leave("lobby")
            _ = await NodeTests.first(of: alice.presence(in: "lobby")) { $0.first?.presence == .offline }
            try await Task.sleep(for: .milliseconds(400))
            if !isBobLast {
                await bob.stop()
                _ = await NodeTests.first(of: alice.presence(in: "kitchen")) { $0.first?.presence == .offline }
            }
            await alice.stop()
            await bob.stop()
            let peers = try KnownPeersFile(directory: directory.path).people()
            let key = bob.key
            let entry = try #require(peers[key])
            #expect(entry.together >= together + .milliseconds(750), "\(entry.together)")
            #expect(entry.together <= start.duration(to: .now), "\(entry.together)")
            #expect(entry.days.count == 1 && entry.part == .probation)
            together = entry.together
        }
    }

    @Test("time together is written now and then while nothing else happens")
    func interval() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory) {
            $0.countingInterval = .milliseconds(200)
            $0.saveInterval = .zero
        }
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        let key = bob.key
        var together: [Duration] = []
        let end = ContinuousClock.now + .seconds(30)
        while together.count < 2, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(100))
            guard case .peers(let peers) = KnownPeersFile(directory: directory.path).read(),
                let entry = peers[key], entry.together > together.last ?? .zero
            else { continue }
            together.append(entry.together)
        }
        #expect(together.count == 2, "\(together)")
        await alice.stop()
        await bob.stop()
    }

    @Test("people are preferred once they are verified, or are met on a second day, until they are blocked")
    func preferred() async throws {
        let directory = try TemporaryFolder()
        let bob = try await NodeTests.node("Bob")
        let carol = try await NodeTests.node("Carol")
        let (bobKey, carolKey) = (bob.key, carol.key)
        var table = KnownPeersTable()
        table.met(bobKey, name: "Bob", at: Date().timeIntervalSince1970, steady: 0)
        // The first meeting was 25 h ago by the age, and now by the clock.
        var counter = AgeCounter(.current())
        counter.advance(toAtLeast: KnownPeersTable.age(90_000))
        #expect(AgeFile(in: directory.path).write(counter) == nil)
        #expect(KnownPeersFile(directory: directory.path).save(table.peers) == .saved(table.peers))
        let alice = try await NodeTests.keeping("Alice", in: directory, peers: [bob, carol])
        await NodeTests.meet(alice, bob)
        await NodeTests.meet(alice, carol)
        #expect(await alice.preferredPeers == [bobKey])
        try await alice.setVerified(true, key: carol.key)
        #expect(await alice.preferredPeers == [bobKey, carolKey])
        try await alice.setBlocked(true, key: bob.key)
        #expect(await alice.preferredPeers == [carolKey])
        await alice.stop()
        let again = try await NodeTests.keeping("Alice", in: directory)
        #expect(await again.preferredPeers == [carolKey])
        // A user can also block a person who is absent.
        try await again.setBlocked(true, key: carol.key)
        #expect(await again.preferredPeers.isEmpty)
        for node in [again, bob, carol] { await node.stop() }
    }

    @Test("of the notices that nobody has heard the last 32 are kept")
    func unheardNotices() async throws {
        let alice = try await NodeTests.node("Alice")
        var bobs: [Node] = []
        for _ in 0..<35 {
            let bob = try await NodeTests.node("Bob", peers: [alice])
            await NodeTests.meet(alice, bob)
            bobs.append(bob)
        }
        let events = await alice.events()
        await alice.stop()
        var users: [UserID] = []
        for await timed in events {
            if case .notice(.keyChanged(let person, _, _)) = timed.event { users.append(person.user) }
        }
        #expect(users == bobs.suffix(32).map(\.user))
        await withDiscardingTaskGroup { group in
            for bob in bobs { group.addTask { await bob.stop() } }
        }
    }

    @Test("a known name with another key is told before its peer, once, and its namesakes show")
    func changedKey() async throws {
        let alice = try await NodeTests.node("Alice")
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        let events = await alice.events()
        let other = try await NodeTests.node("bob", peers: [alice])
        var notices: [Notice] = []
        for await timed in events {
            if case .notice(let notice) = timed.event {
                notices.append(notice)
                #expect("\(notice)".contains(bob.user.description) && "\(notice)".contains(other.user.description))
            }
            if case .peer(let change) = timed.event, change.why == .hello, change.peer.user == other.user {
                let peer = change.peer
                #expect(peer.namesakes == [bob.user] && peer.names == ["bob"])
                #expect(peer.namesake == nil, "nobody knows yet whose the name is")
                // The round trip may have changed since the event.
                let same = await alice.peer(other.user, in: "lobby")
                #expect(same?.gone(at: 0) == peer.gone(at: 0) && same?.onlineSince == peer.onlineSince)
                break
            }
        }
        #expect(notices == [.keyChanged(Person(user: other.user, name: "bob"), known: bob.user, isVerified: false)])
        #expect(await alice.peer(other.user, in: "lobby")?.namesakes == [bob.user])
        #expect(await alice.peer(bob.user, in: "lobby")?.namesakes == [])
        for node in [alice, bob, other] { await node.stop() }
    }

    @Test("a damaged list of known peers is told, and a new one begins")
    func damagedList() async throws {
        let directory = try TemporaryFolder()
        try directory.write("damaged", to: KnownPeersFile.name)
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        let notice = await NodeTests.first(of: alice.events()) { _ in true }
        #expect(
            notice?.event == .notice(.knownPeersDamaged(file: "\(directory.path)/\(KnownPeersFile.damagedName)")))
        await NodeTests.meet(alice, bob)
        await alice.stop()
        await bob.stop()
        #expect(directory.text(KnownPeersFile.name)?.contains("\(bob.key)") == true)
    }
}
