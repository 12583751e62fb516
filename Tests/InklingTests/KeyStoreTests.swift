import Foundation
import Glibc
import Inkling
import InklingWire
import Testing

@Suite("Key store")
struct KeyStoreTests {
    private static let digits = String(repeating: "0f", count: 32)

    @Test("an identity is made once, with its directory, for the owner alone, and read again")
    func kept() throws {
        let scratch = try TemporaryFolder()
        let directory = "\(scratch.path)/a/b"
        let first = try KeyStore.open(directory: directory)
        #expect(first.temporary == nil && first.directory == directory)
        #expect(scratch.mode("a/b") == 0o700 && scratch.mode("a/b/identity") == 0o600)
        #expect(access("\(directory)/identity.new", F_OK) != 0)
        first.close()
        let second = try KeyStore.open(directory: directory)
        #expect(second.identity == first.identity)
    }

    @Test(
        "a relative directory is made, and what is above it, however short its first component",
        arguments: ["", "/y", "/y/"])
    func relative(_ rest: String) throws {
        // The directory lies in the working directory, which all tests share. So its name must be unused.
        let letters = "abcdefghijklmnopqrstuvwxyz".map { String($0) }
        let first = try #require(letters.shuffled().first { access($0, F_OK) != 0 })
        defer { try? FileManager.default.removeItem(atPath: first) }
        let identity = try KeyStore.open(directory: first + rest)
        #expect(identity.temporary == nil)
        #expect(access("\(first + rest)/identity", F_OK) == 0)
        identity.close()
    }

    @Test("root is told of a directory that it would spoil for another user", .enabled(if: geteuid() == 0))
    func anothersAsRoot() throws {
        let scratch = try TemporaryFolder()
        let (kept, missing) = ("\(scratch.path)/kept", "\(scratch.path)/a/b")
        try KeyStore.open(directory: kept).close()
        #expect(!KeyStore.isAnothers(kept) && !KeyStore.isAnothers(missing))
        chown("\(kept)/identity", 1_000, 1_000)
        #expect(KeyStore.isAnothers(kept), "its key")
        chown("\(kept)/identity", 0, 0)
        chown(kept, 1_000, 1_000)
        #expect(KeyStore.isAnothers(kept), "a key that root put there")
        chown(scratch.path, 1_000, 1_000)
        #expect(KeyStore.isAnothers(missing))
        #expect(access("\(scratch.path)/a", F_OK) != 0, "nothing is made")
    }

    @Test("a second node on the same directory runs under a temporary identity, until the first ends (R29)")
    func locked() throws {
        let scratch = try TemporaryFolder()
        let first = try KeyStore.open(directory: scratch.path)
        let second = try KeyStore.open(directory: scratch.path)
        #expect(second.temporary == .inUse(directory: scratch.path))
        #expect(second.directory == nil && second.identity != first.identity)
        #expect(second.temporary?.description.contains("another state directory") == true)
        second.close()
        let third = try KeyStore.open(directory: scratch.path)
        #expect(third.temporary != nil)
        first.close()
        let fourth = try KeyStore.open(directory: scratch.path)
        #expect(fourth.temporary == nil && fourth.identity == first.identity)
    }

    @Test("whether a node uses a directory can be asked, which makes nothing there and keeps nobody from using it")
    func inUse() async throws {
        let scratch = try TemporaryFolder()
        #expect(!KeyStore.isInUse(directory: scratch.path + "/nowhere"))
        #expect(access(scratch.path + "/nowhere", F_OK) != 0)
        #expect(!KeyStore.isInUse(directory: scratch.path) && access(scratch.path + "/lock", F_OK) != 0)
        let store = try KeyStore.open(directory: scratch.path)
        #expect(KeyStore.isInUse(directory: scratch.path))
        store.close()
        #expect(!KeyStore.isInUse(directory: scratch.path))

        // Another process that only looks holds the lock for a moment, on a busy machine perhaps for long.
        var attempts = 0
        while attempts < 50 {
            attempts += 1
            let looker = Glibc.open(scratch.path + "/lock", O_RDONLY | O_CLOEXEC)
            try #require(flock(looker, LOCK_SH | LOCK_NB) == 0)
            let released = Task.detached {
                try await Task.sleep(for: .milliseconds(1))
                Glibc.close(looker)
            }
            let second = try KeyStore.open(directory: scratch.path)
            second.close()
            try await released.value
            if second.temporary == nil { break }
        }
        #expect(attempts < 50)
    }

    @Test("where no directory can be made, the identity is temporary and says why (R29)")
    func unwritable() throws {
        let scratch = try TemporaryFolder()
        try scratch.write("", to: "file")
        let store = try KeyStore.open(directory: "\(scratch.path)/file/state")
        guard case .unwritable(_, let reason) = store.temporary else {
            Issue.record("not temporary")
            return
        }
        #expect(reason == "Not a directory")
    }

    @Test(
        "a damaged key file is an error, is left as it is, and the lock is dropped",
        arguments: [
            "", "\n", "inkling-identity-1 \(digits)", "inkling-identity-1 \(digits)0\n",
            "inkling-identity-1 \(digits.uppercased())\n", "inkling-identity-1 \(digits.dropLast())\n",
            "inkling-identity-1 \(String(repeating: "0", count: 64))\n", "inkling-identity-x \(digits)\n",
            "inkling-identity-1  \(digits)\n", "inkling-identity-1 \(digits)\n\n", "inkling-identity-1\n",
        ])
    func corrupt(text: String) throws {
        let scratch = try TemporaryFolder()
        try scratch.write(text, to: "identity")
        #expect(throws: StateDirectoryFault.corrupt(path: "\(scratch.path)/identity")) {
            try KeyStore.open(directory: scratch.path)
        }
        try scratch.write("inkling-identity-1 \(Self.digits)\n", to: "identity")
        let store = try KeyStore.open(directory: scratch.path)
        #expect(store.temporary == nil && store.identity == KeyPair(privateKey: Array(repeating: 15, count: 32)))
    }

    @Test("a key file of a later version is an error of its own")
    func newer() throws {
        let scratch = try TemporaryFolder()
        try scratch.write("inkling-identity-2 whatever\n", to: "identity")
        #expect(throws: StateDirectoryFault.newer(path: "\(scratch.path)/identity")) {
            try KeyStore.open(directory: scratch.path)
        }
    }

    @Test("rights that are too wide are taken away from the key file")
    func rights() throws {
        let scratch = try TemporaryFolder()
        try scratch.write("inkling-identity-1 \(Self.digits)\n", to: "identity", mode: 0o644)
        _ = try KeyStore.open(directory: scratch.path)
        #expect(scratch.mode("identity") == 0o600)
    }

    @Test("a link or a pipe in place of the key file is refused, without waiting")
    func noFile() throws {
        let scratch = try TemporaryFolder()
        try scratch.write("inkling-identity-1 \(Self.digits)\n", to: "elsewhere")
        symlink("elsewhere", "\(scratch.path)/identity")
        #expect(throws: StateDirectoryFault.unreadable(path: "\(scratch.path)/identity", reason: "it is a link")) {
            try KeyStore.open(directory: scratch.path)
        }
        unlink("\(scratch.path)/identity")
        mkfifo("\(scratch.path)/identity", 0o600)
        #expect(throws: StateDirectoryFault.corrupt(path: "\(scratch.path)/identity")) {
            try KeyStore.open(directory: scratch.path)
        }
    }

    @Test("an empty directory is closed to others; a used one that others may write to is refused")
    func directoryRights() throws {
        let empty = try TemporaryFolder()
        chmod(empty.path, 0o777)
        _ = try KeyStore.open(directory: empty.path)
        #expect(empty.mode("") == 0o700)

        let used = try TemporaryFolder()
        try used.write("", to: "other")
        chmod(used.path, 0o1777)
        #expect(throws: StateDirectoryFault.shared(path: used.path)) { try KeyStore.open(directory: used.path) }
        #expect(used.mode("") == 0o1777)

        let readable = try TemporaryFolder()
        try readable.write("", to: "other")
        chmod(readable.path, 0o755)
        #expect(try KeyStore.open(directory: readable.path).temporary == nil)
        #expect(readable.mode("") == 0o755)
    }

    @Test("every other single character of a key file makes it damaged or another key, never a crash")
    func everyChange() throws {
        let pair = try #require(KeyPair(privateKey: Array(repeating: 0xA5, count: 32)))
        let text = Identity.text(of: pair)
        #expect(text.starts(with: "inkling-identity-1 a5a5".utf8) && Identity.read(text) == .key(pair))
        for index in text.indices {
            #expect(Identity.read(Array(text[..<index])) == .corrupt)
            for bit in 0..<8 {
                var changed = text
                changed[index] ^= 1 << UInt8(bit)
                #expect(Identity.read(changed) != Identity.read(text))
            }
        }
    }
}
