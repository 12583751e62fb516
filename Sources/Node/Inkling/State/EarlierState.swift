import FoundationEssentials
import Glibc
import InklingModel
import InklingWire

/// The files of builds before `state.db`: known people, moves, kept chats, names of chats, and the age. They are read once.
/// Then each is replaced by a stub of a later version, which an earlier build refuses. Otherwise it would use old blocks,
/// and the secrets of chats that the user leaves would stay.
struct EarlierState {
    private enum File: String, CaseIterable {
        case people = "known-peers.json"
        case moves = "moves.json"
        case chats = "kept-chats.json"
        case names = "chat-names.json"
        case age = "age.json"
    }

    private struct Version: Decodable {
        let version: Int
    }

    private static let folder = "moves"
    /// A file in the folder of moves, for builds that read no other.
    private static let folderStub = String(repeating: "0", count: 32) + ".json"
    private static let stubVersion = 1_000
    private static let stub = Array("{\"version\":\(stubVersion)}\n".utf8)
    /// The longest file, in bytes.
    private static let longest = 16 << 20

    /// The content of the files.
    private(set) var records: [StateTables.Key: [UInt8]] = [:]
    /// Why a file can't be read now.
    private(set) var refusal: String?
    /// Whether there are files to replace.
    private(set) var isPresent = false
    /// Whether a list of names can't be read.
    private(set) var lacksNames = false
    /// Whether there are stubs.
    private(set) var isReplaced = false

    init(in directory: String) {
        var contents = StateContents()
        for file in File.allCases {
            let path = "\(directory)/\(file.rawValue)"
            guard let bytes = read(path) else { continue }
            // The faults of damaged files come when they are set aside.
            switch file {
            case .people: contents.people = KnownPeers(earlier: bytes) ?? KnownPeers()
            case .moves: contents.moves = Moves(earlier: bytes) ?? Moves()
            case .chats:
                contents.chats = KeptChats(earlier: bytes) ?? KeptChats()
                if KeptChats(earlier: bytes) == nil { lacksNames = true }
            case .names:
                contents.names = ChatNames(earlier: bytes) ?? ChatNames()
                if ChatNames(earlier: bytes) == nil { lacksNames = true }
            case .age: contents.age = try? AgeCounter(bytes)
            }
        }
        readChains(in: directory, &contents)
        // A release before the list of names kept private chats without it.
        for chat in contents.chats.chats where !chat.isOpen { contents.names.add(chat.name, isOpen: false) }
        records = contents.records
    }

    private mutating func readChains(in directory: String, _ contents: inout StateContents) {
        let folder = "\(directory)/\(Self.folder)"
        guard access(folder, R_OK | X_OK) == 0 else {
            if errno != ENOENT { refusal = "\(folder): \(StateFile.text(errno))" }
            return
        }
        let chains = Self.chainFiles(in: folder).compactMap { name -> Moves.Chain? in
            guard let bytes = read("\(folder)/\(name)") else { return nil }
            return try? Moves.Chain(bytes, id: String(name.prefix(32)))
        }
        // A kill may have come between the writes of the chains and the removal of the one file.
        let known = Set(chains.flatMap(\.left))
        contents.moves = Moves(contents.moves.chains.filter { known.isDisjoint(with: $0.left) } + chains)
    }

    private static func chainFiles(in folder: String) -> [String] {
        EarlierLogs.names(in: folder).sorted().filter { $0.hasSuffix(".json") && LogName.isID($0.dropLast(5)) }
    }

    /// Returns the bytes of a file; nil for a stub, and without a file.
    private mutating func read(_ path: String) -> [UInt8]? {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let file = StateFile(
            directory: String(path[..<slash]), name: String(path[path.index(after: slash)...]), newName: "",
            maximumBytes: Self.longest)
        do throws(StateFile.Failure) {
            let bytes = try file.read()
            let version = (try? JSONDecoder().decode(Version.self, from: Data(bytes)))?.version
            if version == Self.stubVersion {
                isReplaced = true
                return nil
            }
            isPresent = true
            if let version, version > 2 { refusal = "\(path) is of a later version of Inkling" }
            return bytes
        } catch {
            switch error {
            case .missing: break
            case .damaged: (isPresent, lacksNames) = (true, true)
            case .unreadable(let reason): refusal = "\(path): \(reason)"
            }
            return nil
        }
    }

    /// Returns the names of files that came back after they were read and replaced.
    static func putBack(in directory: String) -> [String] {
        let files = File.allCases.map(\.rawValue).filter { name in
            var state = stat()
            return lstat("\(directory)/\(name)", &state) == 0 && state.st_size != Self.stub.count
        }
        return files + chainFiles(in: "\(directory)/\(folder)").filter { $0 != folderStub }.map { "\(folder)/\($0)" }
    }

    /// Replaces the files. Those that are damaged get another name.
    ///
    /// - Returns: Whether all are replaced, and what to tell the user.
    static func replace(in directory: String) -> (isDone: Bool, faults: [StateFault]) {
        var faults: [StateFault] = []
        func setAside(_ path: String) {
            let aside = "\(path.dropLast(5)).damaged.json"
            if rename(path, aside) == 0 { faults.append(.earlier(path: aside)) }
        }
        var isDone = true
        for file in File.allCases {
            let path = "\(directory)/\(file.rawValue)"
            var state = stat()
            guard lstat(path, &state) == 0 else { continue }
            if isDamaged(file, path, directory) { setAside(path) }
            let stub = StateFile(directory: directory, name: file.rawValue, newName: "\(file.rawValue).new")
            if stub.write(Self.stub) != nil { isDone = false }
        }
        let folder = "\(directory)/\(Self.folder)"
        let chains = chainFiles(in: folder).filter { $0 != folderStub }
        guard !chains.isEmpty else { return (isDone, faults) }
        let file = StateFile(directory: folder, name: folderStub, newName: "stub.new")
        if file.write(Self.stub) != nil { isDone = false }
        for name in chains {
            let path = "\(folder)/\(name)"
            let bytes = try? StateFile(directory: folder, name: name, newName: "", maximumBytes: longest).read()
            if bytes.flatMap({ try? Moves.Chain($0, id: String(name.dropLast(5))) }) == nil {
                setAside(path)
            } else if unlink(path) != 0 {
                isDone = false
            }
        }
        return (StateFile.syncDirectory(folder) == nil && isDone, faults)
    }

    private static func isDamaged(_ file: File, _ path: String, _ directory: String) -> Bool {
        let reader = StateFile(directory: directory, name: file.rawValue, newName: "", maximumBytes: longest)
        guard let bytes = try? reader.read() else { return true }
        if bytes == stub { return false }
        return switch file {
        case .people: KnownPeers(earlier: bytes) == nil
        case .moves: Moves(earlier: bytes) == nil
        case .chats: KeptChats(earlier: bytes) == nil
        case .names: ChatNames(earlier: bytes) == nil
        // Without it, the count begins again, and waits are longer.
        case .age: false
        }
    }
}
