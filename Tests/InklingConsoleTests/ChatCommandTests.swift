import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Commands in the model")
struct ChatCommandTests {
    private static let secret = "abcdefghijklmnopqrstuvwxya"

    @Test("/who asks the node, and lists everybody, or says how to find out why nobody is there")
    func who() {
        var stage = ChatStage.begun()
        #expect(
            stage.enter("/who")
                == ["* Nobody else has been here yet. If somebody should be: inkling doctor --here"])
        stage.come(.bob)
        stage.come(.charlie)
        stage.advance(by: 3_000)
        #expect(
            stage.enter("/who") == [
                "* Bob      Active now  since 12:00  bbbbbbbbbbbbbbbb",
                "* Charlie  Active now  since 12:00  cccccccccccccccc",
            ])
        #expect(stage.asked.last == .peers(chat: "kitchen"))
        _ = stage.enter("/join lobby")
        stage.node.people = [:]
        #expect(
            stage.enter("/who")
                == ["* Nobody else has been here yet. If somebody should be: inkling doctor lobby"])
    }

    @Test("what /who says of somebody does not take the place of the event that tells of them")
    func whoBeforeEvent() {
        var stage = ChatStage.begun([.bob])
        stage.come(.bob, .offline)
        stage.advance(by: 60_000)
        stage.node.people[StagePerson.bob.user] = .bob
        #expect(stage.enter("/who") == ["* Bob  Active now  since 12:00  bbbbbbbbbbbbbbbb"])
        stage.come(.bob)
        stage.advance(by: 1_000)
        #expect(stage.newLines() == ["12:01 * Bob is here"])
    }

    @Test("/whois tells what the node told last")
    func whois() {
        var bob = StagePerson.bob
        bob.names = ["Bob", "Bobby"]
        var stage = ChatStage.begun([bob])
        #expect(
            stage.enter("/whois bob") == [
                "* Bob: Active now", "* identity bbbbbbbbbbbbbbbb", "* key \(StagePerson.bob.key)",
                "* first met on Tuesday, 3 March 2026, 11:59", "* was also called Bobby", "* not verified: /verify Bob",
            ])
        #expect(stage.newRequests().allSatisfy { if case .compose = $0 { true } else { false } })
        bob.isVerified = true
        stage.come(bob, .offline)
        stage.advance(by: 130_000)
        #expect(stage.enter("/whois @Bob").first == "* Bob \(Labels.verifiedMark): 2m ago")
        #expect(stage.enter("/whois Bob").last == "* verified")
        #expect(stage.enter("/whois Alice") == ["! That is you. To see your identity: inkling identity show"])
        #expect(stage.enter("/whois Eve") == ["! Nobody here is called Eve; /who lists everybody"])
    }

    @Test("where two have a name, commands ask which one")
    func ambiguous() {
        var stage = ChatStage.begun([.bob, StagePerson(name: "bob", letter: "f")])
        #expect(stage.enter("/whois BOB") == ["! There are two: type /whois Bob ~bbbb or /whois bob ~ffff"])
        #expect(stage.enter("/whois bob ~ffff").first == "* bob ~ffff: Active now")
        #expect(
            stage.enter("/verify Bob ok") == ["! There are two: type /verify Bob ~bbbb ok or /verify bob ~ffff ok"])
        #expect(stage.enter("/mute bob") == ["! There are two: type /mute Bob ~bbbb or /mute bob ~ffff"])
        #expect(stage.enter("/show bob") == ["! There are two: type /show Bob ~bbbb or /show bob ~ffff"])
        #expect(stage.enter("/block bob ok") == ["! There are two: type /block Bob ~bbbb ok or /block bob ~ffff ok"])
        for letter in "efgh" { stage.come(StagePerson(name: "Bob", letter: letter)) }
        #expect(stage.enter("/whois bob")[0].hasPrefix("! There are five: type /whois Bob ~bbbb, /whois Bob ~eeee, "))
        #expect(stage.newLines().isEmpty && stage.enter("/whois bob")[0].hasSuffix(", ..."))
    }

    @Test("what was shown as a label is understood after the label has changed")
    func formerLabel() {
        var stage = ChatStage.begun([.bob, StagePerson(name: "bob", letter: "f")])
        var bob = StagePerson.bob
        _ = stage.enter("/verify Bob ~bbbb")
        #expect(stage.enter("/verify Bob ~bbbb ok") == ["* Bob ~bbbb is now verified"])
        bob.isVerified = true
        stage.come(bob)
        #expect(stage.enter("/whois Bob ~bbbb").first == "* Bob \(Labels.verifiedMark): Active now")
        _ = stage.enter("/mute bob ~ffff")
        stage.come(StagePerson(name: "Zoe", letter: "f"))
        #expect(stage.enter("/unmute bob ~ffff").first?.hasPrefix("* Zoe (Active now) is no longer muted") == true)
    }

    @Test("nobody's key is verified before its fingerprint was on the screen")
    func verify() {
        var stage = ChatStage.begun([.bob, .charlie])
        #expect(
            stage.enter("/verify Bob ok")
                == ["! You have not seen the fingerprint yet. Compare it first: /verify Bob"])
        #expect(!stage.asked.contains(.setVerified(true, key: ChatStage.key("b"))))
        #expect(
            stage.enter("/verify Bob") == [
                "* Fingerprint of you and Bob:", "*   00001 00002 00003 00004", "*   00005 00006 00007 00008",
                "* If theirs is the same, type: /verify Bob ok",
            ])
        #expect(
            stage.enter("/verify Charlie ok")
                == ["! You have not seen the fingerprint yet. Compare it first: /verify Charlie"],
            "it was another's")
        #expect(stage.enter("/whois Bob").last == "* not verified: /verify Bob")
        stage.node.people[StagePerson.bob.user]?.isVerified = true
        #expect(stage.enter("/verify Bob ok") == ["* Bob is now verified"])
        #expect(stage.asked.suffix(2) == [.setVerified(true, key: ChatStage.key("b")), .peers(chat: "kitchen")])
        #expect(stage.enter("/whois Bob").last == "* verified")
        #expect(stage.enter("/verify Bob ok") == ["* Bob \(Labels.verifiedMark) is verified already"])
        #expect(stage.asked.count { $0 == .setVerified(true, key: ChatStage.key("b")) } == 1)
        stage.node.failures = [.unknownPeer("key of c")]
        #expect(stage.enter("/verify Charlie") == ["! " + NodeError.unknownPeer("key of c").fact])
        #expect(stage.enter("/verify Charlie ok").first?.hasPrefix("! You have not seen") == true)
    }

    @Test("a new key under the same name needs its own fingerprint")
    func verifyAnother() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/verify Bob")
        stage.come(.bob, .offline)
        stage.come(StagePerson(name: "Bob", letter: "f"))
        #expect(
            stage.enter("/verify ~ffff ok")
                == ["! You have not seen the fingerprint yet. Compare it first: /verify Bob ~ffff"])
    }

    @Test("who is verified is not blocked in the place of an impostor: that takes a word more")
    func blockVerified() {
        var bob = StagePerson.bob
        bob.isVerified = true
        var stage = ChatStage.begun([bob])
        stage.come(StagePerson(name: "Bob", letter: "f"))
        #expect(
            stage.enter("/block Bob")
                == ["! Bob \(Labels.verifiedMark) is verified. To block them all the same: /block Bob ok"])
        #expect(!stage.asked.contains(.setBlocked(true, .key(ChatStage.key("b")))))
        _ = stage.enter("/block Bob ~ffff")
        #expect(stage.asked.contains(.setBlocked(true, .key(ChatStage.key("f")))), "an impostor takes no more")
        _ = stage.enter("/block Bob  OK")
        #expect(stage.asked.contains(.setBlocked(true, .key(ChatStage.key("b")))))
        stage.come(StagePerson(name: "Eve ok", letter: "g"))
        _ = stage.enter("/block Eve ok")
        #expect(stage.asked.contains(.setBlocked(true, .key(ChatStage.key("g")))), "it may be a part of a name")
    }

    @Test("/block and /unblock ask the node, by key; who is blocked may have been met elsewhere")
    func block() {
        var stage = ChatStage.begun([.bob])
        #expect(
            stage.enter("/block Bob") == [
                "* Bob is blocked: you see nothing from them, and they see you as gone. To undo it: /unblock Bob"
            ])
        #expect(stage.asked.suffix(2) == [.setBlocked(true, .key(ChatStage.key("b"))), .peers(chat: "kitchen")])
        #expect(stage.enter("/unblock Bob") == ["! Nobody called Bob is blocked"])
        func known(_ letter: Character, _ names: [String]) -> KnownPeer {
            KnownPeer(
                user: ChatStage.user(letter), key: ChatStage.key(letter), names: names, namedSince: 0, firstSeen: 0,
                lastSeen: 0, isVerified: false, isBlocked: true)
        }
        stage.node.blocked = [known("b", ["Bob"]), known("e", ["Eve", "Eva"]), known("f", ["Eve"])]
        #expect(stage.enter("/unblock Bob") == ["* Bob is no longer blocked"])
        #expect(
            stage.asked.suffix(3) == [
                .knownPeers(areBlocked: true), .setBlocked(false, .key(ChatStage.key("b"))), .peers(chat: "kitchen"),
            ])
        #expect(stage.enter("/unblock eva") == ["* eva is no longer blocked"])
        #expect(stage.asked.contains(.setBlocked(false, .key(ChatStage.key("e")))))
        #expect(
            stage.enter("/unblock Eve") == [
                "! Several blocked people have that name; give the identity: eeeeeeeeeeeeeeee, ffffffffffffffff"
            ])
        #expect(stage.enter("/unblock ffffffffffffffff") == ["* ffffffffffffffff is no longer blocked"])
    }

    @Test("of somebody muted nothing shows, in any chat, until they are not any more")
    func mute() {
        var stage = ChatStage.begun([.bob, .charlie])
        #expect(stage.enter("/mute") == ["* Nobody is muted. To mute somebody until you quit: /mute NAME"])
        #expect(
            stage.enter("/mute Bob") == [
                "* Bob is muted until you quit: you see nothing from them, but they still get your messages. "
                    + "To undo it: /unmute Bob"
            ])
        #expect(stage.enter("/mute Bob") == ["* Bob is already muted. To undo it: /unmute Bob"])
        stage.receive("hi", from: .bob)
        stage.typing(.bob)
        #expect(stage.newLines().isEmpty && stage.model.indicator == nil)
        #expect(stage.enter("/mute") == ["* Bob is muted: 1 message so far, not shown"])
        #expect(stage.enter("/unmute Eve") == ["! Nobody called Eve is muted; /mute lists who is"])
        #expect(
            stage.enter("/unmute bob")
                == ["* Bob (Active now) is no longer muted: 1 message while they were muted, not shown"])
        stage.receive("hi again", from: .bob)
        #expect(stage.newLines() == ["12:00 Bob: hi again"])
    }

    @Test("what there is to say of a key waits until its owner is no longer muted")
    func mutedKey() {
        let known = Peer.Namesake(user: ChatStage.user("e"), names: ["Zoe"], isVerified: false)
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/mute Bob")
        stage.come(StagePerson(name: "Zoe", letter: "b", namesake: known))
        stage.advance(by: 1_000)
        #expect(stage.newLines().isEmpty)
        let lines = stage.enter("/unmute Zoe ~bbbb")
        #expect(lines.count == 1, "\(lines)")
        stage.advance(by: 500)
        #expect(stage.newLines().last?.hasPrefix("12:00 !! Zoe ~bbbb is not the Zoe you know") == true)
    }

    @Test("/away and /back tell others, once each; the prompt says so")
    func away() {
        var stage = ChatStage.begun([.bob, .charlie])
        #expect(stage.enter("/back") == ["* You are not away"])
        #expect(
            stage.enter("/away") == ["* Others see that you are away; messages still reach you. To return: /back"])
        #expect(stage.model.prompt == "kitchen (open) (away)> ")
        #expect(stage.enter("/away") == ["* You are already away. To return: /back"])
        #expect(stage.enter("/back") == ["* You are back"])
        #expect(
            stage.asked.filter { if case .setAway = $0 { true } else { false } } == [.setAway(true), .setAway(false)])
    }

    @Test("/help lists the commands and keys, or explains one; what is not a command is told")
    func help() {
        var stage = ChatStage.begun([.bob], columns: 200)
        let help = stage.enter("/help")
        #expect(
            help.contains("* Alt-Enter     begin another line") && help.contains("* /nick NAME    change your name"))
        var lines = ChatStage.begun([.bob], form: .lines)
        lines.line("/help")
        #expect(!lines.newLines().contains { $0.contains("Alt-Enter") }, "it has no such keys")
        #expect(stage.enter("/help clear") == ["* /clear", "* Clear the screen. Ctrl-L does the same."])
        #expect(stage.enter("/help \u{9B}x") == ["! There is no command x; /help lists them"])
        #expect(stage.enter("/help jion") == ["! There is no command jion. Did you mean /help join?"])
        #expect(stage.enter("/open kichen") == ["! You are not in a chat called kichen. Did you mean kitchen?"])
        #expect(stage.enter("/hepl") == ["! There is no command /hepl. Did you mean /help?"])
        #expect(stage.enter("/nick") == ["! /nick needs a name: /nick [--once] NAME"])
    }

    @Test("/invite shows the invite of a private chat, and how to join an open one")
    func invite() throws {
        var stage = ChatStage.begun()
        #expect(
            stage.enter("/invite")
                == [
                    "* kitchen is open: anybody on this network can join with inkling chat kitchen. "
                        + "For a private chat: /invite NAME"
                ])
        let invite = [
            "* Anyone with this invite can join and read; pass it on through a channel you trust:",
            "inkling:our%20team#abcdefghijklmnopqrstuvwxya@\(ChatStage.identity("Alice").key)",
        ]
        let made = stage.enter("/invite our team")
        #expect(made.first == "12:00 * You are now in our team" && made.suffix(2) == invite, "\(made)")
        #expect(stage.model.prompt == "our team> ")
        #expect(stage.enter("/join our team") == ["* You are already in our team"])
        #expect(stage.enter("/invite our team") == invite, "it is made once")
        #expect(stage.enter("/invite a\u{200B}b")[0].hasPrefix("! This chat name can't be used"))
        stage.node.failures = [.other(code: "similar-name", text: "")]
        #expect(
            stage.enter("/invite Our team")
                == ["! That name could mean another chat of yours. Choose another one: /invite NAME"])
        _ = stage.enter("/join inkling:team#\(Self.secret)")
        #expect(stage.model.prompt == "team> ")
        #expect(
            stage.enter("/invite") == [
                "* Anyone with this invite can join and read; pass it on through a channel you trust:",
                "inkling:team#\(Self.secret)",
            ])
    }

    // A-18
    @Test("a prompt makes the daemon keep a private chat, and not a node of its own", arguments: [true, false])
    func privateChatStays(_ isAttached: Bool) throws {
        var stage = ChatStage.begun(place: isAttached ? .daemon : .own)
        let chat = try Chat("team", secret: Secret(Self.secret))
        _ = stage.enter("/join inkling:team#\(Self.secret)")
        #expect(stage.newRequests().contains(.join(chat, isKept: true, isConfirmed: true)) == isAttached)
        _ = stage.enter("/join lobby")
        #expect(!stage.newRequests().contains(.join(try Chat("lobby"), isKept: true, isConfirmed: true)), "it is open")
    }

    @Test("an invite shows in one piece, and joins under a name that the user's word confirms")
    func inviteInOnePiece() throws {
        var stage = ChatStage.begun(columns: 30)
        let invite = "inkling:team#\(Self.secret)"
        _ = stage.enter("/join \(invite)  work ")
        let work = try Chat("work", secret: Secret(Self.secret))
        #expect(stage.newRequests().contains(.join(work, isConfirmed: true)))
        stage.type("/invite\r")
        let line = try #require(stage.lines.last)
        #expect(line.isUnbroken && line.text == "inkling:work#\(Self.secret)")
        #expect(line.plainRows(columns: 30) == [line.text])
        stage.terminal.resize(columns: 100)
        #expect(stage.terminal.everything.contains(line.text), "the terminal itself has wrapped it")
    }

    @Test("a private chat that the daemon can't keep is told, and joined all the same")
    func privateChatNotKept() {
        var stage = ChatStage.begun(place: .daemon)
        stage.answersAtOnce = false
        _ = stage.enter("/join inkling:team#\(Self.secret)")
        while let next = stage.waiting.first {
            if case .join(_, isKept: true, _) = next.request {
                stage.node.failures = [.other(code: "not-kept", text: "The disk is full.")]
            }
            stage.answerNext()
        }
        #expect(
            stage.newLines().contains("! The daemon can't keep team, so it ends with this prompt: The disk is full."))
        #expect(stage.model.prompt == "team> ")
    }

    // MARK: Several chats

    @Test("/join joins a chat and opens it, with the time; one that cannot be joined says why")
    func join() {
        var stage = ChatStage.begun([.bob])
        stage.node.met = [StagePerson.dora.peer(.offline, lastSeen: ChatStage.noon)]
        #expect(
            stage.enter("/join lobby") == [
                "12:00 * You are now in lobby (open)",
                "12:00 * lobby is an open chat: anybody on this network can join and read it. "
                    + "For a private chat: /invite NAME",
                "12:00 * Looking for others. Messages reach only people who are online.",
            ])
        #expect(stage.asked.suffix(2) == [.join(ChatStage.chat("lobby")), .open(chat: "lobby")])
        #expect(stage.model.prompt == "lobby (open, Dora: Last seen just now)> ")
        #expect(stage.enter("/join kitchen") == ["* You are already in kitchen (open)"])
        #expect(stage.model.prompt == "kitchen (open, Bob: Active now)> ")
        #expect(stage.enter("/join kitchen") == ["* You are already in kitchen (open)"])
        #expect(
            stage.enter("/join inkling:kitchen#\(Self.secret)") == [
                "! You are in another chat with that name: leave it first with /leave kitchen"
            ])
        stage.node.failures = [.tooManyChats]
        #expect(stage.enter("/join third") == ["! " + NodeError.tooManyChats.fact])
        #expect(stage.enter("/join inkling:x").first?.hasPrefix("! This is not an invite") == true)
        #expect(
            stage.enter("/join my team.Invite") == [
                "! my team.Invite looks like a file with an invite. Join with the invite itself: "
                    + "/join inkling:NAME#SECRET. Or start with the file: inkling chat --invite-file 'my team.Invite'"
            ])
        #expect(stage.enter("/chats") == ["* 1 kitchen (open): here", "* 2 lobby (open)"])
    }

    @Test("what comes in another chat waits, below a line that says where one had read to; drafts stay with their chat")
    func unread() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/join lobby")
        stage.type("for the lobby")
        stage.receive("one", from: .bob)
        stage.receive("two", from: .bob)
        #expect(stage.newLines().isEmpty)
        #expect(stage.model.prompt == "lobby (open) [kitchen (open) 2]> ")
        #expect(stage.model.editor.text == "for the lobby")
        _ = stage.newRequests()
        stage.type("\u{1B}1")
        #expect(
            stage.newLines()
                == ["* You are now in kitchen (open)", "--- new messages ---", "12:00 Bob: one", "12:00 Bob: two"])
        #expect(stage.newRequests() == [.open(chat: "kitchen")], "coming back to a draft is not typing")
        #expect(stage.model.editor.text == "" && stage.model.prompt == "kitchen (open, Bob: Active now)> ")
        #expect(stage.enter("/open lobby") == ["* You are now in lobby (open)"], "nothing is new there")
        #expect(stage.model.editor.text == "for the lobby")
        stage.type("\u{15}")
        #expect(stage.enter("/open 7") == ["! There is no chat number 7; /chats lists yours"])
        #expect(stage.enter("/open LOBBY").isEmpty)
        #expect(stage.enter("/open attic") == ["! You are not in a chat called attic; /chats lists yours"])
        stage.come(.bob, .offline)
        stage.advance(by: 1_000)
        #expect(
            stage.enter("/open 1") == ["* You are now in kitchen (open)", "12:00 * Bob has left"],
            "a coming and going alone is nothing to read")
    }

    @Test("/leave leaves a chat and opens another one; without any there is nobody to write to")
    func leave() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/join lobby")
        #expect(stage.enter("/leave attic") == ["! You are not in a chat called attic; /chats lists yours"])
        stage.node.failures = [.stopped]
        #expect(stage.enter("/leave") == ["! " + NodeError.stopped.fact])
        #expect(
            stage.enter("/leave") == ["* You have left lobby (open)", "* You are now in kitchen (open)"])
        #expect(stage.asked.suffix(2) == [.leave(chat: "lobby"), .open(chat: "kitchen")])
        #expect(
            stage.enter("/leave kitchen") == [
                "* You have left kitchen (open)",
                "* You are not in a chat now. Join one with /join NAME, or end with /quit",
            ])
        #expect(stage.model.prompt == "no chat> ")
        #expect(stage.enter("hello") == ["12:00 ! You are not in a chat. Join one: /join NAME"])
        for line in ["/who", "/invite", "/whois Bob", "/find x"] {
            #expect(stage.enter(line) == ["! You are not in a chat. Join one: /join NAME"])
        }
        #expect(stage.enter("/chats") == ["* You are not in a chat. Join one: /join NAME"])
        #expect(stage.enter("/leave") == ["! You are not in a chat"])
    }

    @Test("what is said last in a chat is told on leaving it, with its name where it is not open")
    func leaveWithWords() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/join lobby")
        stage.node.people = [:]
        stage.type("hi\r")
        _ = stage.enter("/open kitchen")
        #expect(
            stage.enter("/leave lobby") == [
                "* In lobby (open):", "* Nobody was here to receive: hi", "* You have left lobby (open)",
            ])
        stage.node.people = [StagePerson.bob.user: .bob]
        stage.type("unanswered\r")
        #expect(
            stage.enter("/leave").prefix(3) == [
                "You: unanswered  (on its way)", "* Delivery is unknown: unanswered", "* You have left kitchen (open)",
            ])
    }

    // MARK: /nick, /me, mentions, /clear and /find

    @Test("/nick tells the node, keeps the name without --once, and others' labels take care of it")
    func nick() {
        var stage = ChatStage.begun([.bob])
        #expect(stage.enter("/nick --once Zoe") == ["* Others see you as Zoe from now on"] && stage.lasting.isEmpty)
        #expect(stage.asked.last == .rename("Zoe") && stage.model.identity.name == "Zoe")
        #expect(stage.enter("/nick Zoe") == ["* That is your name already: others see you as Zoe"])
        #expect(stage.lasting == [.name("Zoe")])
        #expect(stage.enter("/whois zoe") == ["! That is you. To see your identity: inkling identity show"])
        stage.come(StagePerson(name: "zoe", letter: "c"))
        stage.advance(by: 1_000)
        #expect(stage.newLines().contains("12:00 * zoe ~cccc is here"), "it is the own name")
        func refused(_ fault: NameFault) -> [String] {
            ["! " + NodeError.name(fault).fact + " Choose another: /nick NAME"]
        }
        #expect(stage.enter("/nick 🙂") == refused(.unreadable))
        let long = String(repeating: "é", count: 33)
        #expect(stage.enter("/nick \(long)") == refused(.tooLong(bytes: 66, maximum: 64)))
        #expect(!stage.asked.contains(.rename(long)), "nobody is asked")
        stage.node.failures = [.stopped]
        #expect(stage.enter("/nick Ann").first?.hasPrefix("! ") == true && stage.lasting.count == 1)
        #expect(stage.model.identity.name == "Zoe")
        #expect(stage.enter("/nick Zo\u{65}\u{301}") == ["* Others see you as Zoé from now on"])
        #expect(stage.lasting.last == .name("Zo\u{E9}"))
        #expect(stage.model.identity.name.unicodeScalars.elementsEqual("Zo\u{E9}".unicodeScalars))
    }

    @Test("/me is sent as it is typed, and shows as what somebody does, never like a notice")
    func deeds() {
        var stage = ChatStage.begun([.bob], decorated: true)
        stage.type("/me waves\r")
        #expect(stage.asked.last == .send("/me waves", chat: "kitchen"))
        stage.deliver(to: .bob)
        #expect(stage.newLines() == ["12:00 Alice *waves*  (delivered)"])
        stage.receive("/me is now verified", from: .bob)
        #expect(stage.lines.first?.spans.map(\.emphasis) == [.dim, .person("bbbbbbbbbbbbbbbb"), .plain])
        stage.receive("/me ", from: .bob)
        stage.receive("/meet me", from: .bob)
        stage.receive("say /me waves", from: .bob)
        #expect(
            stage.newLines()
                == [
                    "12:00 Bob *is now verified*", "12:00 Bob: /me ", "12:00 Bob: /meet me", "12:00 Bob: say /me waves",
                ])
        #expect(stage.enter("/me") == ["! /me needs what you do: /me ACTION"])
        #expect(stage.enter("/find me").first == "* 3 messages with \"me\":", "what makes it a deed was not said")
        #expect(stage.enter("/find waves").count == 3)
    }

    @Test("the own name in a message is in bold, and rings where that is wanted, but not all the time")
    func mentions() {
        var stage = ChatStage.begun([.bob], decorated: true, rings: true)
        stage.receive("has ALICE seen malice? alice!", from: .bob)
        #expect(
            stage.lines[0].spans.dropFirst(2) == [
                Line.Span(text: " has ", emphasis: .plain), Line.Span(text: "ALICE", emphasis: .bold),
                Line.Span(text: " seen malice? ", emphasis: .plain), Line.Span(text: "alice", emphasis: .bold),
                Line.Span(text: "!", emphasis: .plain),
            ])
        #expect(stage.newEffects() == [.bell])
        stage.receive("Alice", from: .bob)
        #expect(stage.newEffects().isEmpty)
        stage.advance(by: 2_000)
        stage.receive("malice", from: .bob)
        #expect(stage.newEffects().isEmpty)
        _ = stage.enter("/join lobby")
        stage.receive("Alice, here", from: .bob)
        #expect(stage.newEffects() == [.bell], "in a chat that is not open, too")
        _ = stage.enter("/open kitchen")
        _ = stage.enter("/mute Bob")
        stage.advance(by: 2_000)
        stage.receive("Alice", from: .bob)
        #expect(stage.newEffects().isEmpty)
        var silent = ChatStage.begun([.bob])
        silent.receive("Alice", from: .bob)
        #expect(silent.newEffects().isEmpty, "it rings only where that is wanted")
        _ = silent.newLines()
        _ = silent.enter("/nick Zoe")
        silent.receive("Alice and zoe", from: .bob)
        #expect(silent.lines[0].spans.contains(Line.Span(text: "zoe", emphasis: .bold)))
        #expect(!silent.lines[0].spans.contains { $0.text == "Alice" })
    }

    @Test("/clear clears the screen and draws the prompt again")
    func clear() {
        var stage = ChatStage.begun([.bob])
        stage.type("/clear\r")
        #expect(stage.newEffects() == [.clearScreen])
        #expect(stage.terminal.screen.drop { $0.isEmpty } == ["kitchen (open, Bob: Active now)>"])
    }

    @Test("/find shows what was said in this chat since the start, with the time, in bold")
    func find() {
        var stage = ChatStage.begun([.bob], decorated: true)
        stage.receive("Shall we meet TOMORROW?", from: .bob)
        stage.advance(by: 120_000)
        stage.type("tomorrow is fine\r")
        stage.receive("well\nor the day after tomorrow\nperhaps", from: .bob)
        _ = stage.enter("/join lobby")
        stage.receive("tomorrow elsewhere", from: .bob, in: "lobby")
        _ = stage.enter("/open 1")
        _ = stage.enter("/find tomorrow")
        stage.type("/find Tomorrow\r")
        #expect(stage.lines.last?.spans.contains(Line.Span(text: "tomorrow", emphasis: .bold)) == true)
        #expect(
            stage.newLines() == [
                "* 3 messages with \"Tomorrow\":", "12:00 Bob: Shall we meet TOMORROW?", "12:02 You: tomorrow is fine",
                "12:02 Bob: or the day after tomorrow",
            ])
        #expect(stage.enter("/find FINE") == ["* 1 message with \"FINE\":", "12:02 You: tomorrow is fine"])
        stage.receive("the o\u{FB03}ce", from: .bob)
        #expect(stage.enter("/find office").last == "12:02 Bob: the o\u{FB03}ce")
        #expect(stage.enter("/find fi").count == 2, "of a character that stands for several, no part is found")
        #expect(stage.enter("/find never") == ["* Nothing with \"never\" in what was said since the start"])
        for number in 1...25 {
            stage.advance(by: 6_000)
            stage.receive("number \(number)", from: .bob)
        }
        let many = stage.enter("/find number")
        #expect(many.count == 21 && many[0] == "* 25 messages with \"number\", the last 20:")
        #expect(many.last?.hasSuffix("Bob: number 25") == true)
    }

    @Test("what /find can find is bounded, and a long row shows the part that was looked for")
    func findBounds() {
        var stage = ChatStage.begun([.bob], form: .lines, folds: false)
        stage.receive("needle", from: .bob)
        for _ in 1...2_000 { stage.receive("hay", from: .bob) }
        _ = stage.newLines()
        stage.line("/find needle")
        #expect(stage.newLines().last == "* Nothing with \"needle\" in the latest messages")
        stage.receive(String(repeating: "x ", count: 300) + "needle" + String(repeating: " y", count: 300), from: .bob)
        stage.line("/find needle")
        let line = stage.newLines().last ?? ""
        #expect(line.hasPrefix("Bob: ...x ") && line.contains("needle y") && line.hasSuffix("..."))
        #expect(line.count < 220)
    }

    @Test("Ctrl-R looks back in what was entered; the prompt says for what")
    func history() {
        var stage = ChatStage.begun([.bob], columns: 80)
        for line in ["first line", "second", "third line"] { stage.type(line + "\r") }
        stage.type("draft\u{12}")
        #expect(stage.terminal.screen.last == "(history: )> draft")
        stage.type("LIN")
        #expect(stage.terminal.screen.last == "(history: LIN)> third line")
        _ = stage.newEffects()
        stage.type("\u{12}")
        #expect(stage.terminal.screen.last == "(history: LIN)> first line")
        stage.type("\u{12}")
        #expect(stage.newEffects() == [.bell] && stage.terminal.screen.last == "(not found: LIN)> first line")
        stage.type("\u{3}")
        #expect(stage.terminal.screen.last == "kitchen (open, Bob: Active now)> draft" && stage.model.isRunning)
        stage.type("\u{12}sec")
        _ = stage.newRequests()
        stage.type("\r")
        #expect(stage.newRequests().first == .send("second", chat: "kitchen"))
    }

    // MARK: Answers that come later

    @Test("input waits for the answer to what was entered before it, so that all comes in order")
    func laterAnswers() {
        var stage = ChatStage.begun([.bob])
        stage.answersAtOnce = false
        stage.type("one\r/help quit\rdraft")
        #expect(stage.newLines().isEmpty && stage.model.editor.isEmpty)
        #expect(stage.newRequests() == [.compose("one", chat: "kitchen"), .send("one", chat: "kitchen")])
        stage.deliver(1, to: .bob)
        #expect(stage.newLines().isEmpty, "it is not known yet that this is the message's number")
        stage.answerNext()
        #expect(
            stage.newLines().last
                == "* End the program. Your private chats stay yours. Ctrl-D on an empty line does the same, as does "
                + "Ctrl-C twice."
        )
        #expect(stage.model.editor.text == "draft")
    }

    @Test("a message goes to the chat that was open when it was entered")
    func laterChat() {
        var stage = ChatStage.begun([.bob])
        _ = stage.enter("/join lobby")
        stage.advance(by: 5_000)
        stage.answersAtOnce = false
        _ = stage.newRequests()
        stage.type("to the lobby\r\u{1B}1to the kitchen\r")
        for _ in 0..<10 { stage.answerNext() }
        #expect(
            stage.newRequests().filter { if case .send = $0 { true } else { false } }
                == [.send("to the lobby", chat: "lobby"), .send("to the kitchen", chat: "kitchen")])
    }

    @Test("Ctrl-C waits its turn while a node does not answer; a second one ends it")
    func noAnswer() {
        var stage = ChatStage.begun([.bob])
        stage.answersAtOnce = false
        stage.type("/who\r")
        stage.type("typed meanwhile")
        #expect(stage.model.editor.isEmpty)
        stage.type("\u{3}")
        #expect(stage.newEffects().isEmpty && stage.model.isRunning)
        stage.type("\u{3}")
        #expect(stage.newEffects() == [.beginEnd, .end])
        var message = ChatStage.begun([.bob])
        message.answersAtOnce = false
        message.type("hello\r")
        message.type("\u{3}\u{3}")
        #expect(message.newEffects() == [.beginEnd], "it is not known yet whether it was sent")
        message.advance(by: 2_000)
        #expect(message.newEffects() == [.end] && !message.model.isAnswered)
    }

    @Test("one Ctrl-C ends it before the first chat is there")
    func noChat() {
        var stage = ChatStage()
        stage.answersAtOnce = false
        stage.begin()
        stage.type("\u{3}")
        #expect(stage.newEffects() == [.beginEnd, .end])
    }

    @Test("what a node answers to somebody else, or twice, changes nothing")
    func strayAnswers() {
        var stage = ChatStage.begun([.bob])
        let answer = ServiceOutput.answer(.fingerprint(["1"]), to: stage.node.nextRequestID)
        stage.perform(stage.model.receive(answer, at: stage.moment))
        #expect(stage.newLines().isEmpty)
        #expect(stage.enter("/verify Bob ok").first?.hasPrefix("! You have not seen") == true)
    }
}
