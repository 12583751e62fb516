import Foundation
import Testing

/// Names of a stranger, and the labels that show beside Bob, who is known or verified, and without any Bob. The user is
/// Alice.
enum DressedNames {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let besideBob: String
        let withoutBob: String
        /// Whether Bob, if he is not verified, needs a suffix as well.
        let looksLikeBob: Bool
        var testDescription: String { name }
    }

    static let all =
        rows(alikeOnlyBesideBob, suffix: .besideBob, looksLikeBob: true)
        + rows(alikeAlways, suffix: .always, looksLikeBob: true)
        + rows(othersOnlyBesideBob, suffix: .besideBob, looksLikeBob: false)
        + rows(othersAlways, suffix: .always, looksLikeBob: false)
        + rows(othersNever, suffix: .never, looksLikeBob: false)

    /// When the label has a suffix.
    private enum Suffix { case never, besideBob, always }

    /// - Parameter table: names, and what is shown of them if that is something else: `name => shown || name`.
    private static func rows(_ table: String, suffix: Suffix, looksLikeBob: Bool) -> [Row] {
        table.split(separator: "\n").flatMap { $0.components(separatedBy: " || ") }.map { entry in
            let parts = entry.components(separatedBy: " => ")
            precondition(parts.count <= 2, entry)
            let label = parts[parts.count - 1]
            return Row(
                name: parts[0], besideBob: suffix == .never ? label : label + " ~mall",
                withoutBob: suffix == .always ? label + " ~mall" : label, looksLikeBob: looksLikeBob)
        }
    }

    /// The letters and digits are Bob's, or can hardly be told from them.
    private static let alikeOnlyBesideBob = """
        Bob - || Bob_ || @Bob || Bob || bob || BOB || bOb || Bob. || Bob! || Bob? || Bob* || Bob+ || Bob=
        Bob# || Bob% || Bob& || Bob/ || Bob\\ || Bob^ || Bob$ || Bob-- || Bob... || Bob… || Bob__ || B.o.b
        B-o-b || B_o_b || B o b || Bo b || B ob || B·o·b || #Bob || &Bob || @Bob@ || .Bob || ·Bob || •Bob
        ¡Bob! || ¿Bob? || Bob 🦊 || 🦊 Bob || Bob😀 || Bob ❤ || Bob ☀ || Bob\u{2060} => Bob
        Bo\u{200B}b => Bob || B0b || b0b || B0B || Ｂｏｂ || ＢＯＢ || 𝐁𝐨𝐛 || 𝔹𝕠𝕓 || 𝑩𝒐𝒃 || 𝓑𝓸𝓫 || 𝖡𝗈𝖻 || 𝙱𝚘𝚋
        ᴮᵒᵇ || Bᵒb || Вов || ВОВ || ΒΟΒ || Bᴏʙ || ʙᴏʙ || ꓐꓳꓐ
        """

    /// The same, with signs or a mixture of scripts that always need the suffix.
    private static let alikeAlways = """
        Bob (nfxg62dfoj3xs2lk) => Bob (...) || Bob (mfrggzdfmztwq2lk) => Bob (...) || Воb || Bоb || BΟb
        Bοb || bоb || Bob =) || (Bob) || [Bob] || {Bob} || <Bob> => Bob> || \"Bob\" || “Bob” || ‘Bob’
        «Bob» || ‹Bob› || „Bob“ || 「Bob」 || 【Bob】 || （Bob） || Bob' || 'Bob' || Bob’ || Bob` || `Bob` => Bob`
        Bob´ || Bob, || Bob; || ,Bob => Bob || Bob、 || Bob، || Bob， || Bob,, || |Bob| => Bob| || Bob| || Bobǀ
        Bob | || Bob ★ || Bob ☆ || Bob ● || Bob ◆ || Bob ⭐ || Bob 🔒 || Bob 🔐 || Bob 🛡 => Bob || Bob ⛨ => Bob || Bob ⛊ => Bob || Bob 🛡\u{FE0F} => Bob || Bob ⚔ || Bob 🔏 || Bob 🔑 || Bob ⚿ || Bob 🔰 || Bob 💯
        Bob ⚡ || Bob ⚠ || Bob → || Bob ■ || Bob ❯ || Bob ➤ || Bob ◀ || Bob ® || Bob © || Bob ° || Bob ¦
        Bob ¬ || Bob 🟢 || Bob 🟩 || Bob 🔵 || Bob 🔷 || Bob 💬 || Bob 🆗 || Bob ⬤ || Bob ◉ || Bob ⦿ || Bob ⊕
        Bob ⟩ || Bob ⌂ || Bob ⎆ || Bob ⏎ || Bob ␣ || Bob\u{2800} || Bob \u{2800} || Bob ❝ || Bob ✓ => Bob
        ✓ Bob => Bob || Bob ✔ => Bob || Bob ☑ => Bob || Bob ✅ => Bob || Bob √ => Bob || Bob 🗸 => Bob
        Bob ꪜ => Bob || Bob✓ => Bob || Bob ✓✓ => Bob || Bob ✔\u{FE0F} => Bob || Bob ⍻ => Bob || * Bob => Bob
        ! Bob => Bob || !! Bob => Bob || - Bob => Bob || -- Bob => Bob || > Bob => Bob || ~Bob => Bob
        _Bob_ => Bob_ || +Bob => Bob || /Bob => Bob || =Bob= => Bob= || %Bob => Bob || ✱ Bob => Bob
        — Bob => Bob || ─── Bob ─── => Bob ─── || Bob: => Bob. || Bob： => Bob. || Bob∶ => Bob.
        Bob꞉ => Bob. || ǃBob => Bob || █Bob => Bob || ?Bob => Bob || \\Bob => Bob || Bob ~ || Bob~ || Bob (
        Bob) || (Bob || Bob mfrggzdfmztwq2lk => Bob ... || Bob mfrggzdfmztwq2lkx => Bob ...
        Bob/mfrggzdfmztwq2lk => Bob/...
        """

    /// Bob's name is a part of them.
    private static let othersOnlyBesideBob = """
        Bob's laptop || Bob 2 || Bob2 || Bob 22 || Bob007 || 007Bob || Bob 1 || Bob_2 || Bob-2 || Bob Smith
        Bob smith || BobSmith || BobSMITH || bobSmith || Bob B. || Bob's phone || Bob’s phone || Bobs laptop
        Bob laptop || Bob-laptop || Bob_laptop || Bob.laptop || Bob@laptop || bob@example.org || Bob/laptop
        Bob+Bob || Bob Bob || bob bob || Bob & Alan || The real Bob || Real Bob || I am Bob || I'm Bob
        It is Bob || Mr Bob || Mr. Bob || Dr. Bob || Bob Jr. || Bob II || Bob the Builder || Bob official
        Official Bob || Bob OFFICIAL || Bob online || Bob here || Bob at work || Bob at home
        Bob new phone || Bob new key || new Bob || Not Bob || not-Bob || Bob - work || Bob - new
        Bob . . . ok || Bob x || x Bob || x Bob x || xX Bob Xx || Bob v || Bob V || Bob ok || OK Bob
        Bob yes || Bob admin || admin Bob || Bob root || Bob says hi || Bob wrote || Bob 12.30 || 12.30 Bob
        B0b Smith || BOB Smith || b.o.b smith || B o b Smith || Ｂｏｂ Ｓｍｉｔｈ || 𝐁𝐨𝐛 𝐒𝐦𝐢𝐭𝐡 || Вов Иванов
        ΒΟΒ Νικος || Bob 🦊 Smith || Bob ❤ Zoe || Bob 日本 || 日本 Bob
        Bob שלום
        Bob² || Bob ½ || Bob#nfxg || Bob nfxg || Bob и Ко
        """

    /// They could be taken for what the program says, for the user, or for something else that is no name.
    private static let othersAlways = """
        Bob (verified) || Bob, verified || Bob (Active now) || Bob™ || Bob℠ || Bob (work)
        Bob [2] || Bob {x} || Bob <bob@example.org> || Bob (1) || Bob (typing) || Bob (away) || Bob (open)
        Bob (delivered) || Bob (you) || Bob (not verified) || Bob (key changed) || Bob (Bob) || Bob, Charlie
        Bob, Charlie and Dora || Charlie, Bob || Bob; Charlie || Bob、Charlie || Bob ‹x› || Bob \"B\" Smith
        Bob “the man” || Bob 'x' || Bob, away || Bob, online || Bob | away || Bob | verified || Bob ⟨ok⟩
        Bob ➜ away || Bob ★ admin || Bob 🔒 verified || Bob 🟢 online || Bob • Active now || Bob verified
        Bob Verified || Bob VERIFIED || Bob - verified || Bob is verified || verified Bob || Verified by Bob
        Bob Active now || Bob active now || Bob away || Bob Away || Away Bob || Bob is typing || Bob is here
        Bob has left || Bob is typing... || Bob muted || Bob blocked || Bob delivered || delivered to Bob
        Bob Last seen today || Bob and others || You and Bob || Someone Bob || Bob You || Bob Inkling
        Inkling Bob || Alice and Bob || Bob Alice || Bob: hi => Bob. hi || Bob: verified => Bob. verified
        Bob ✓ Smith => Bob Smith || * Bob has left => Bob has left || > Bob Smith => Bob Smith
        --- Bob Smith --- => Bob Smith --- || [12.30] Bob || 12:30 Bob => 12.30 Bob || Bob ~nfxg
        Bob ~nfxg ✓ => Bob ~nfxg || ~nfxg Bob => nfxg Bob || nfxg62dfoj3xs2lk => Someone
        mfrggzdfmztwq2lk => Someone || MFRGGZDFMZTWQ2LK => Someone
        Bob mfrggzdfmztwq2lk Bob => Bob ... Bob || ｍｆｒｇｇｚｄｆｍｚｔｗｑ２ｌｋ Bob => Someone
        Bob nfxg-62df-oj3x-s2lk || nfxg 62df oj3x s2lk || Bob m1rggzdfmztwq2lk
        mallorymallory22 Mallory => ... Mallory || Zoe (mfrggzdfmztwq2lk) => Zoe (...)
        xnfxg62dfoj3xs2lkx Zoe => ... Zoe || Bob a b c d e f g h || a b c d e f g h Bob || a b c d e f g h i
        B.o.b.i.s.h.e.r.e || You || YOU || Someone || Nobody || Others || 2 others || Alice || ALICE
        @Alice || Alice_ || Alice's laptop || A1ice || Аlice || The real Alice || Zoe verified
        Zoe (verified) || Zoe, verified || Zoe is typing || Active now || Zoe Active now || Zoe ★ || Zoe 🔒
        Zoe → Max || “Zoe” || Zoe, Max || Zoe | Max || <Zoe> => Zoe> || Zoe 🟢 || Zoe ✓ => Zoe
        Zoe: hi => Zoe. hi || * Zoe has left => Zoe has left || Zoe ~abcd || Zoе || Αdam || Zoe \u{FFFD}
        verified || Inkling || inkling || delivered || 🦊 => Someone
         => Someone
        --- => Someone || ✓ => Someone || \u{1B}[2J => Someone || \u{200B} => Someone
        """

    /// They are only names.
    private static let othersNever = """
        Bobby || Bobbie || Bobo || Robert || Rob || Kabob || Bobcat || bobsled || Boba || Bo || B || Bb
        Bod || 8ob || Bo8 || Bób || Boḅ || Böb || Bøb || Bəb || Bobb || Boob || Bbob || Rob Roberts || Dave
        Eve || Carol || Zoë || José || Jose || O'Neill || O’Neill || 't Hooft || D'Arcy || Jean-Luc
        Anna Maria || Anna-Maria || J. R. R. Tolkien || Smith || Smith B || Ludwig van Beethoven || Zoe 🦊
        Zoe ❤ || 🦊 Zoe || Zoe! || Zoe_ || @Zoe || #1 fan || C++ fan || Müller || Straße || Жанна || Борис
        Νίκος || 日本太郎 || ローラ || 김철수
        علي
        דוד
        राम || สมชาย || Աննա || ქეთი || 7 || 42 || R2-D2 || n00b || l33t || Al || Zoe 2 || Zoe's phone
        Dr. Zoe || Mr. Smith || Zoe at work || Team Rot-Weiß || Kitchen iPad || Küche || Zoe & Max
        Zoe + Max || Zoe/Max || Zoe.Max || zoe@example.org || Christopher Smith 2 || christophersmith2
        Wolfeschlegelsteinhausen || Christopherjones || Xhosa || Bo Bsmith || Bo-bsmith || Abob || ob
        Ob B || Bo.bby
        """
}
