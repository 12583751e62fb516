import Inkling
import InklingModel
import InklingService
import Testing

/// The names of private chats that a state directory remembers.
@Suite("Names of private chats")
struct NameKeeperTests {
    /// The names on a disk.
    private final class Disk {
        var names = ChatNames()
        var fault: String?
        /// Why the next write fails.
        var failure: String?
    }

    private let disk = Disk()
    private let secret: Secret

    init() throws { secret = try Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa") }

    private var keeper: NameKeeper { keeper() }

    private func keeper(settledName: String? = nil, remembers: Bool = true) -> NameKeeper {
        let keep = { [disk] (chat: Chat, completion: (String?) -> Void) in
            if disk.failure == nil { disk.names.add(chat.name, isOpen: chat.isOpen) }
            completion(disk.failure)
        }
        return NameKeeper(settledName: settledName, fault: disk.fault, keep: remembers ? keep : nil) { [disk] in
            disk.names
        }
    }

    private func refusal(_ chat: Chat, isConfirmed: Bool = false, of keeper: NameKeeper? = nil) -> NodeError? {
        var refusal: NodeError?
        (keeper ?? self.keeper).refusal(of: chat, isConfirmed: isConfirmed) { refusal = $0 }
        return refusal
    }

    // A-33, R40
    @Test("the open chat of a private chat's name, or of one that looks like it, needs the user's word each time")
    func openName() throws {
        #expect(refusal(try Chat("team")) == nil, "no private chat had it")
        #expect(self.keeper.doubt(about: try Chat("shed", secret: secret)) == nil)
        #expect(refusal(try Chat("shed")) == nil, "a question stores nothing")
        disk.names = ChatNames()
        #expect(refusal(try Chat("team", secret: secret)) == nil)
        for name in ["team", "Team", "t\u{435}am", "te-am", "TEAM"] {
            #expect(refusal(try Chat(name))?.code == "private-name", "\(name)")
            #expect(refusal(try Chat(name), isConfirmed: true) == nil, "\(name)")
            #expect(refusal(try Chat(name))?.code == "private-name", "\(name)")
        }
        #expect(refusal(try Chat("garden")) == nil)
        #expect(refusal(try Chat("team", secret: secret)) == nil, "the private one")
    }

    //
    @Test("where names may be missing, a bare name is refused until the user confirms it, and private ones still count")
    func unknown() throws {
        #expect(refusal(try Chat("team", secret: secret)) == nil)
        disk.fault = "/x/state.db was damaged or lost once"
        let error = try #require(refusal(try Chat("garden")))
        #expect(error.code == "names-unknown" && error.description.contains("/x/state.db"))
        #expect(refusal(try Chat("garden"))?.code == "names-unknown", "also the next time")
        #expect(refusal(try Chat("Team"))?.code == "private-name")
        #expect(refusal(try Chat("club", secret: secret)) == nil, "an invite leads to its chat")
        #expect(refusal(try Chat("garden"), isConfirmed: true) == nil)
        #expect(refusal(try Chat("garden")) == nil, "it was confirmed")
    }

    //
    @Test("a private chat takes neither the default name nor that of an open chat used before, unless confirmed")
    func capturedName() throws {
        #expect(refusal(try Chat("garden")) == nil)
        for name in ["lobby", "L0bby", "garden", "Garden"] {
            #expect(refusal(try Chat(name, secret: secret))?.code == "open-name", "\(name)")
        }
        let settled = keeper(settledName: "kitchen")
        #expect(refusal(try Chat("kitchen", secret: secret), of: settled)?.code == "open-name")
        #expect(refusal(try Chat("lobby", secret: secret), isConfirmed: true) == nil)
        #expect(refusal(try Chat("lobby", secret: secret)) == nil, "it was confirmed")
        #expect(refusal(try Chat("lobby"))?.code == "private-name")
    }

    /// Names that a reader takes for "family".
    static let alike = [
        "f\u{430}mily", "family ", " family", "Family", "FAMILY", "fami\u{4CF}y", "fam1ly", "fa-mily", "family.",
        "\u{FF46}amily", "\u{1D41F}amily", "family\u{FE0F}", "fa\u{34F}mily", "family\u{3164}", "family\u{2800}",
        "family\u{E0100}", "farnily",
    ]

    //
    @Test("a private chat that looks like another one needs the user's word once", arguments: alike)
    func similarName(_ name: String) throws {
        #expect(refusal(try Chat("family", secret: secret)) == nil)
        let other = try Chat(name, secret: try Secret("bbbbbbbbbbbbbbbbbbbbbbbbba"))
        for _ in 0..<2 {
            let error = try #require(refusal(other))
            #expect(error.code == "similar-name" && error.description.contains("\"family\""))
        }
        #expect(refusal(other, isConfirmed: true) == nil)
        #expect(refusal(other) == nil, "it was confirmed")
        #expect(refusal(try Chat("family", secret: secret)) == nil, "it was there first")
        #expect(refusal(try Chat(name))?.code == "private-name", "the open chat is another matter")
    }

    // A-69, R42
    @Test("names of signs are alike if only blanks and invisible characters differ, and other names are not alike")
    func differentNames() throws {
        for name in [
            "family", "families", "family 2", "our family", "familia", "\u{1F3E0}", "\u{1F525}", "\u{5BB6}\u{65CF}",
            "\u{441}\u{435}\u{43C}\u{44C}\u{44F}", "Ian", "Alan", "garden",
        ] { #expect(refusal(try Chat(name, secret: secret)) == nil, "\(name)") }
        for name in ["\u{1F3E0} ", "\u{1F3E0}\u{FE0F}"] {
            #expect(refusal(try Chat(name, secret: secret))?.code == "similar-name", "\(name)")
        }
    }

    //
    @Test("a node that leaves no trace adds no name")
    func ephemeral() throws {
        #expect(refusal(try Chat("team", secret: secret), of: keeper(remembers: false)) == nil)
        #expect(disk.names == ChatNames())
    }

    //
    @Test("a private chat whose name can't be kept is refused; the name of a kept chat is kept with it")
    func failure() throws {
        disk.failure = "No space left on device"
        let error = try #require(refusal(try Chat("team", secret: secret)))
        #expect(error.code == "name-not-kept" && error.description.contains("No space left on device"))
        #expect(refusal(try Chat("garden")) == nil, "no secret depends on an open chat's name")
        var refusal: NodeError? = .stopped
        keeper.refusal(of: try Chat("team", secret: secret), isConfirmed: false, isKept: true) { refusal = $0 }
        #expect(refusal == nil && disk.names == ChatNames())
    }

    //
    @Test("a full list refuses another private chat, and never forgets a private name for one")
    func full() throws {
        for number in 0..<ChatNames.privateLimit { disk.names.add("chat \(number)", isOpen: false) }
        #expect(refusal(try Chat("team", secret: secret))?.code == "name-not-kept")
        #expect(refusal(try Chat("chat 0", secret: secret)) == nil)
        #expect(refusal(try Chat("chat 0"))?.code == "private-name")
    }
}
