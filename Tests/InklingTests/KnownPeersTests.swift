import Foundation
import InklingModel
import InklingWire
import ProcessSupport
import Testing

@testable import Inkling

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
        for entry in peers.all {
            let read = try #require(KnownPeers.Entry(entry.key.bytes, entry.bytes))
            #expect(read == entry && read.bytes == entry.bytes)
        }
        let known = try #require(peers[try Self.key(1)]).known
        #expect(peers[try Self.key(1)]?.addresses == ["a": ["192.0.2.1:4000", "[fe80::1%eth0]:4000"]])
        #expect(known.names == ["Alice"] && known.firstSeen == 10 && known.isVerified && !known.isBlocked)
    }

    @Test("every truncation of a record is damaged, and so is everything that this program does not write")
    func damaged() throws {
        for entry in try Self.sample().all {
            let (key, bytes) = (entry.key.bytes, entry.bytes)
            for count in bytes.indices { #expect(KnownPeers.Entry(key, Array(bytes.prefix(count))) == nil) }
            #expect(KnownPeers.Entry(key, bytes + [0]) == nil && KnownPeers.Entry(Array(key.dropLast()), bytes) == nil)
            // Nothing is read that can't be written.
            for index in bytes.indices {
                for bit in 0..<8 as Range<UInt8> {
                    var changed = bytes
                    changed[index] ^= 1 << bit
                    if let other = KnownPeers.Entry(key, changed) { #expect(!other.bytes.isEmpty) }
                }
            }
        }
        let alice = try #require(try Self.sample()[try Self.key(1)])
        let last = KnownPeersLimits.counts.upperBound
        let changes: [(String, (inout KnownPeers.Entry) -> Void)] = [
            ("first time", { $0.firstSeen = 1e300 }), ("last time", { $0.lastSeen = -1e300 }),
            ("no number", { $0.lastSeen = .nan }), ("time in a chat", { $0.chats["a"] = -0.001 }),
            ("first use of a name", { $0.named["allce"] = 253_402_300_800 }),
            ("days", { $0.days = DaysMet(count: last, began: .zero) }),
            ("time together", { $0.together = .milliseconds(Int64(last)) }),
            ("place of those kept", { $0.kept = last }),
        ]
        for (name, change) in changes {
            var entry = alice
            change(&entry)
            #expect(KnownPeers.Entry(alice.key.bytes, entry.bytes) == nil, "\(name)")
        }
        // The last day began at the age of 10 s, when Alice was in the chat too.
        let age = [0, 0, 0, 0, 0, 0, 0x27, 0x10] as [UInt8]
        let places = alice.bytes.indices.filter { alice.bytes[$0...].starts(with: age) }
        #expect(places.count == 2)
        for place in places {
            var bytes = alice.bytes
            bytes[place] = 0x7F
            #expect(KnownPeers.Entry(alice.key.bytes, bytes) == nil)
        }
    }

    /// The people of ``sample()`` as a file of version 2, of release 0.2.
    private static func secondVersion() throws -> String {
        let (alice, bob, carol) = (try key(1), try key(2), try key(3))
        return #"""
            {"peers":[{"addresses":{"a":["192.0.2.1:4000","[fe80::1%eth0]:4000"]},"ages":{"a":10000},\#
            "blocked":{"is":false,"number":0},"chats":{"a":10},"dayBegan":10,"days":1,"firstSeen":10,\#
            "key":"\#(alice.base64url)","lastSeen":10,"named":{"allce":10},"names":["Alice"],"togetherMilliseconds":0,\#
            "user":"\#(alice.userID)","verified":{"is":true,"number":1}},\#
            {"ages":{"b":20250},"blocked":{"is":true,"number":1},"chats":{"b":20.25},"dayBegan":20.25,"days":1,\#
            "firstSeen":20.25,"key":"\#(bob.base64url)","lastSeen":20.25,\#
            "named":{"\#(KnownPeers.folded("Bob \u{1b}\"\\/é"))":20.25},"names":["Bob \u001b\"\\/é"],\#
            "togetherMilliseconds":0,"user":"\#(bob.userID)","verified":{"is":false,"number":0}},\#
            {"ages":{"a":15000},"blocked":{"is":false,"number":0},"chats":{"a":15},"dayBegan":15,"days":1,\#
            "firstSeen":15,"kept":1,"key":"\#(carol.base64url)","lastSeen":15,"named":{"carol":15},\#
            "names":["Carol"],"togetherMilliseconds":654321,"user":"\#(carol.userID)",\#
            "verified":{"is":false,"number":0}}],"version":2}

            """#
    }

    @Test("a file of release 0.2 is taken over without loss, once")
    func earlierFile() throws {
        let directory = try TemporaryFolder()
        let text = try Self.secondVersion()
        let sample = try Self.sample()
        #expect(KnownPeers(earlier: Array(text.utf8)) == sample)
        try directory.write(text, to: "known-peers.json")
        #expect(StateContents(in: directory.path).people == sample && directory.text("known-peers.json") == text)
        let tables = StateTables(in: directory.path, isHeld: true)
        #expect(tables.contents.people == sample && tables.takeFaults().isEmpty)
        #expect(directory.text("known-peers.json") == "{\"version\":1000}\n", "an earlier program refuses it")
        #expect(StateTables(in: directory.path, isHeld: true).contents.people == sample)
    }

    @Test("a later version's list of people is told and left alone, and no database is made")
    func laterFile() throws {
        let directory = try TemporaryFolder()
        let text = "{\"version\":3,\"people\":[]}"
        try directory.write(text, to: "known-peers.json")
        let reason = "\(directory.path)/known-peers.json is of a later version of Inkling"
        let tables = StateTables(in: directory.path, isHeld: true)
        #expect(tables.takeFaults() == [.unusable(path: tables.path, reason: reason, isEmpty: true)])
        #expect(directory.text("known-peers.json") == text)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["known-peers.json"])
    }

    @Test("every truncation of an earlier file is damaged, and so is everything that no release wrote")
    func damagedEarlierFile() throws {
        let text = try Self.secondVersion()
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count - 2 { #expect(KnownPeers(earlier: Array(bytes.prefix(count))) == nil) }
        let key = try Self.key(1).base64url
        for (from, to) in [
            (key, String(key.dropLast())), (key, try Self.key(2).base64url), ("\"version\":2", "\"version\":0"),
            ("\"version\":2", "\"version\":1"), ("\"version\":2", "\"version\":3"),
            ("\"version\":2", "\"version\":\"2\""), ("\"Alice\"", "7"),
            ("\"Alice\"", "\"\(String(repeating: "x", count: 65))\""),
            ("\"is\":true", "\"is\":1"), ("\"number\":1", "\"number\":1e999"), ("\"number\":1", "\"number\":-1"),
            ("\"number\":1", "\"number\":4503599627370496"), ("\"days\":1", "\"days\":4503599627370496"),
            ("\"kept\":1", "\"kept\":4503599627370496"), ("\"kept\":1", "\"kept\":true"),
            ("\"togetherMilliseconds\":654321", "\"togetherMilliseconds\":4503599627370496"),
            ("\"togetherMilliseconds\":654321", "\"togetherMilliseconds\":0.5"),
            ("\"dayBegan\":10", "\"dayBegan\":-1"), ("\"dayBegan\":10", "\"dayBegan\":1e300"),
            ("\"firstSeen\":10", "\"firstSeen\":1e300"), ("\"lastSeen\":10", "\"lastSeen\":-1e300"),
            ("\"chats\":{\"a\":10}", "\"chats\":{\"a\":-0.001}"),
            ("\"ages\":{\"a\":10000}", "\"ages\":{\"a\":9223372036854775807}"),
            ("\"named\":{\"allce\":10}", "\"named\":{\"allce\":253402300800}"),
        ] {
            #expect(text.contains(from))
            let changed = text.replacingOccurrences(of: from, with: to)
            #expect(KnownPeers(earlier: Array(changed.utf8)) == nil, "\(to)")
        }
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
        table.restart()
    }

    // MARK: - The directory

    @Test("who only looks reads the state and the identity, and leaves what is damaged as it is")
    func peeking() throws {
        let directory = try TemporaryFolder()
        let empty = StateTables(in: directory.path, isHeld: false)
        #expect(empty.contents.people == KnownPeers() && empty.refusal == nil)
        #expect(KeptIdentity.user(in: directory.path) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        var state = StateContents()
        state.people = try Self.sample()
        state.write(in: directory.path)
        #expect(StateContents(in: directory.path).people == state.people)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        for damaged in ["", "{\"version\":2,"] {
            try directory.write(damaged, to: StateTables.fileName)
            try directory.write(damaged, to: "identity")
            let tables = StateTables(in: directory.path, isHeld: false)
            #expect(tables.contents.people == state.people && tables.refusal != nil, "as the copy says")
            #expect(KeptIdentity.user(in: directory.path) == nil)
            #expect(directory.text(StateTables.fileName) == damaged && directory.text("identity") == damaged)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                    == (files + ["identity"]).sorted())
        }
        unlink("\(directory.path)/\(StateTables.fileName)")
        #expect(StateContents(in: directory.path).people == state.people)
        // Without the copy, the node knows that it does not know all names of chats.
        unlink("\(directory.path)/\(StateTables.copyName)")
        try directory.write("{\"version\":1000}\n", to: "known-peers.json")
        #expect(StateTables(in: directory.path, isHeld: false).namesFault != nil)
        try directory.write("damaged", to: StateTables.fileName)
        #expect(StateTables(in: directory.path, isHeld: false).namesFault != nil)
        let pair = try #require(KeyPair(privateKey: Array(repeating: 7, count: 32)))
        let text = String(decoding: Identity.text(of: pair), as: UTF8.self)
        try directory.write(text, to: "identity")
        #expect(try KeptIdentity.user(in: directory.path) == KeptIdentity.read(directory: directory.path)?.user)
    }

    @Test("a damaged database is moved aside, and a link is not followed")
    func unreadable() throws {
        let directory = try TemporaryFolder()
        let (path, aside) = (directory.path + "/state.db", directory.path + "/state.damaged.db")
        try directory.write("{\"version\":2,", to: StateTables.fileName)
        #expect(
            StateTables(in: directory.path, isHeld: true).takeFaults()
                == [.damaged(path: path, aside: aside, copy: nil)])
        #expect(directory.text(StateTables.damagedName) == "{\"version\":2,")
        #expect(StateTables(in: directory.path, isHeld: true).takeFaults().isEmpty)
        unlink(path)
        try directory.write("damaged", to: StateTables.copyName)
        #expect(StateTables(in: directory.path, isHeld: true).takeFaults() == [.missing(path: path)])

        let before = try Data(contentsOf: URL(filePath: path))
        try FileManager.default.moveItem(atPath: path, toPath: "\(directory.path)/elsewhere")
        symlink("elsewhere", path)
        #expect(StateTables(in: directory.path, isHeld: true).refusal == "\(path) can't be used: it is a link")
        #expect(try Data(contentsOf: URL(filePath: "\(directory.path)/elsewhere")) == before)
        #expect(
            StateTables(in: "/nowhere", isHeld: true).refusal
                == "/nowhere/state.db can't be used: No such file or directory")
    }

    /// Makes a state of a later version.
    static func makeNewer(_ directory: TemporaryFolder) throws {
        try Database("\(directory.path)/\(StateTables.fileName)", StateTables.schema).run("PRAGMA user_version=2")
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
        #expect(further.stateDirectory == directory.path && !further.isHeld && holder.isHeld)
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
        // Another program uses the file for a while.
        let other = try Self.using(directory)
        let verified = Task { try await alice.setVerified(true, key: bob.key) }
        try await Task.sleep(for: .milliseconds(50))
        let blocked = Task { try await alice.setBlocked(true, key: bob.key) }
        try await Task.sleep(for: .milliseconds(50))
        let stop = Task {
            while !Task.isCancelled { await Task.yield() }
            await alice.stop()
        }
        stop.cancel()
        try await Task.sleep(for: .milliseconds(400))
        #expect(StateContents(in: directory.path).people[bob.key] == nil)
        try other.run("ROLLBACK")
        await stop.value
        let kept = try #require(StateContents(in: directory.path).people[bob.key])
        #expect(kept.isVerified && kept.isBlocked)
        try await verified.value
        try await blocked.value
        await bob.stop()
    }

    /// Uses the state as another program does, which makes writes wait until a `ROLLBACK`.
    private static func using(_ directory: TemporaryFolder) throws -> Database {
        let other = try Database("\(directory.path)/\(StateTables.fileName)", StateTables.schema)
        try other.run("BEGIN IMMEDIATE")
        return other
    }

    // R35
    @Test("what peers cause is written once, however many come and go; what the user decides is written at once")
    func savesSeldom() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        try await Task.sleep(for: KnownPeersLimits.saveDelay + .seconds(1))
        #expect(StateContents(in: directory.path).people[bob.key] != nil)
        let carol = try await NodeTests.node("Carol", peers: [alice])
        await NodeTests.meet(alice, carol)
        try await Task.sleep(for: KnownPeersLimits.saveDelay + .seconds(1))
        #expect(StateContents(in: directory.path).people[carol.key] == nil)
        try await alice.setVerified(true, key: bob.key)
        let decided = StateContents(in: directory.path).people
        #expect(decided[bob.key]?.isVerified == true && decided[carol.key] != nil)
        for node in [alice, bob, carol] { await node.stop() }
    }

    @Test("a save that finds the file in use fails after 2 s for all that wait, is told, and is tried again")
    func usedState() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        await NodeTests.meet(alice, bob)
        let events = await alice.events()
        let other = try Self.using(directory)
        let start = ContinuousClock.now
        try await alice.setVerified(true, key: bob.key)
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(StateContents(in: directory.path).people[bob.key] == nil)
        let notice = await NodeTests.first(of: events) { if case .notice = $0.event { true } else { false } }
        let fault = StateFault.notKept(reason: "\(directory.path)/state.db: another program uses it")
        #expect(notice?.event == .notice(.other(code: "state-not-kept", text: fault.text)))
        try other.run("ROLLBACK")
        let end = ContinuousClock.now + .seconds(20)
        while StateContents(in: directory.path).people[bob.key] == nil, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(StateContents(in: directory.path).people[bob.key]?.isVerified == true)
        await alice.stop()
        await bob.stop()
    }

    @Test("a node that ends while the file is in use says that nothing was kept")
    func usedAtEnd() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let events = await alice.events()
        try await alice.setBlocked(true, key: try KnownPeersTests.key(1))
        let other = try Self.using(directory)
        let decision = Task { try await alice.setBlocked(true, key: try KnownPeersTests.key(2)) }
        try await Task.sleep(for: .milliseconds(50))
        await alice.stop()
        try other.run("ROLLBACK")
        try await decision.value
        var notices: [Notice] = []
        for await timed in events { if case .notice(let notice) = timed.event { notices.append(notice) } }
        let fault = StateFault.notKept(reason: "\(directory.path)/state.db: another program uses it")
        #expect(notices.contains(.other(code: "state-not-kept", text: fault.text)), "\(notices)")
        #expect(StateContents(in: directory.path).people.blocked == [try KnownPeersTests.key(1)])
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
            let entry = try #require(StateContents(in: directory.path).people[bob.key])
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
            guard let entry = StateContents(in: directory.path).people[key], entry.together > together.last ?? .zero
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
        var state = StateContents()
        (state.people, state.age) = (table.peers, counter)
        state.write(in: directory.path)
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

    @Test("a damaged state is told, and another begins")
    func damagedState() async throws {
        let directory = try TemporaryFolder()
        try directory.write("damaged", to: StateTables.fileName)
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let bob = try await NodeTests.node("Bob", peers: [alice])
        let notice = await NodeTests.first(of: alice.events()) { _ in true }
        let (path, aside) = ("\(directory.path)/state.db", "\(directory.path)/state.damaged.db")
        let fault = StateFault.damaged(path: path, aside: aside, copy: nil)
        #expect(notice?.event == .notice(.other(code: "state-damaged", text: fault.text)))
        #expect(directory.text(StateTables.damagedName) == "damaged")
        await NodeTests.meet(alice, bob)
        await alice.stop()
        await bob.stop()
        #expect(StateContents(in: directory.path).people[bob.key] != nil)
    }

    @Test("the user hears once that a new identity replaced a missing one, whichever program made it")
    func newIdentity() async throws {
        let directory = try TemporaryFolder()
        var alice = try await NodeTests.keeping("Alice", in: directory)
        let user = alice.user
        await alice.stop()
        let path = "\(directory.path)/identity"
        for isMadeBefore in [false, true] {
            unlink(path)
            if isMadeBefore { _ = try KeyStore.openShared(directory: directory.path) }
            alice = try await NodeTests.keeping("Alice", in: directory)
            let notice = await NodeTests.first(of: alice.events()) { _ in true }
            let fault = StateFault.newIdentity(path: path)
            #expect(notice?.event == .notice(.other(code: "identity-new", text: fault.text)) && alice.user != user)
            await alice.stop()
        }
        alice = try await NodeTests.keeping("Alice", in: directory)
        #expect(await alice.standingNotices.all.isEmpty)
        await alice.stop()
    }

    @Test("a node that has ended writes nothing, because another one may hold the directory")
    func ended() async throws {
        let directory = try TemporaryFolder()
        let alice = try await NodeTests.keeping("Alice", in: directory)
        await alice.stop()
        let chat = try Chat("team", secret: .random())
        let reason = try await alice.eventLoop.submit {
            alice.onLoop { node in
                var reason: String?
                node.keep(KeptChats([chat]), leaving: nil) { reason = $0 }
                return reason
            }
        }.get()
        #expect(reason == "the node has ended" && StateContents(in: directory.path).chats == KeptChats())
    }

    @Test("the user reads of a state of a later version, which stays as it is")
    func laterState() async throws {
        let directory = try TemporaryFolder()
        try KnownPeersTests.makeNewer(directory)
        let path = "\(directory.path)/state.db"
        let before = try Data(contentsOf: URL(filePath: path))
        let alice = try await NodeTests.keeping("Alice", in: directory)
        let notice = await NodeTests.first(of: alice.events()) { _ in true }
        let fault = StateFault.unusable(path: path, reason: "it is of a later version of Inkling", isEmpty: true)
        #expect(notice?.event == .notice(.other(code: "state-unusable", text: fault.text)))
        let key = try KnownPeersTests.key(1)
        try await alice.setBlocked(true, key: key)
        #expect(await alice.knownPeer(key: key)?.isBlocked == true, "in this run")
        await alice.stop()
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }
}
