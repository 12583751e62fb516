import Foundation
import Testing

/// Names of somebody whom the user doesn't know, and the labels that show: beside Bob, who is known or verified, and
/// where nobody is called Bob. The user is Alice.
enum DressedNames {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let besideBob: String
        let withoutBob: String
        /// Whether Bob, if he is not verified, needs a suffix as well.
        let looksLikeBob: Bool
        var testDescription: String { name }
    }

    static let all = rows(alike, looksLikeBob: true) + rows(others, looksLikeBob: false)

    private static func rows(_ table: String, looksLikeBob: Bool) -> [Row] {
        table.split(separator: "\n").map { line in
            let parts = line.components(separatedBy: " => ")
            precondition(parts.count == 3, "\(line)")
            return Row(name: parts[0], besideBob: parts[1], withoutBob: parts[2], looksLikeBob: looksLikeBob)
        }
    }

    /// The letters and digits are Bob's, or can hardly be told from them.
    private static let alike = """
        Bob - => Bob - ~mall => Bob -
        Bob_ => Bob_ ~mall => Bob_
        @Bob => @Bob ~mall => @Bob
        Bob (nfxg62dfoj3xs2lk) => Bob (...) ~mall => Bob (...) ~mall
        Bob (mfrggzdfmztwq2lk) => Bob (...) ~mall => Bob (...) ~mall
        Bob => Bob ~mall => Bob
        bob => bob ~mall => bob
        BOB => BOB ~mall => BOB
        bOb => bOb ~mall => bOb
        Bob. => Bob. ~mall => Bob.
        Bob! => Bob! ~mall => Bob!
        Bob? => Bob? ~mall => Bob?
        Bob* => Bob* ~mall => Bob*
        Bob+ => Bob+ ~mall => Bob+
        Bob= => Bob= ~mall => Bob=
        Bob# => Bob# ~mall => Bob#
        Bob% => Bob% ~mall => Bob%
        Bob& => Bob& ~mall => Bob&
        Bob/ => Bob/ ~mall => Bob/
        Bob\\ => Bob\\ ~mall => Bob\\
        Bob^ => Bob^ ~mall => Bob^
        Bob$ => Bob$ ~mall => Bob$
        Bob-- => Bob-- ~mall => Bob--
        Bob... => Bob... ~mall => Bob...
        Bob… => Bob… ~mall => Bob…
        Bob__ => Bob__ ~mall => Bob__
        B.o.b => B.o.b ~mall => B.o.b
        B-o-b => B-o-b ~mall => B-o-b
        B_o_b => B_o_b ~mall => B_o_b
        B o b => B o b ~mall => B o b
        Bo b => Bo b ~mall => Bo b
        B ob => B ob ~mall => B ob
        B·o·b => B·o·b ~mall => B·o·b
        #Bob => #Bob ~mall => #Bob
        &Bob => &Bob ~mall => &Bob
        @Bob@ => @Bob@ ~mall => @Bob@
        .Bob => .Bob ~mall => .Bob
        ·Bob => ·Bob ~mall => ·Bob
        •Bob => •Bob ~mall => •Bob
        ¡Bob! => ¡Bob! ~mall => ¡Bob!
        ¿Bob? => ¿Bob? ~mall => ¿Bob?
        Bob 🦊 => Bob 🦊 ~mall => Bob 🦊
        🦊 Bob => 🦊 Bob ~mall => 🦊 Bob
        Bob😀 => Bob😀 ~mall => Bob😀
        Bob ❤ => Bob ❤ ~mall => Bob ❤
        Bob ☀ => Bob ☀ ~mall => Bob ☀
        Bob\u{2060} => Bob ~mall => Bob
        Bo\u{200B}b => Bob ~mall => Bob
        B0b => B0b ~mall => B0b
        b0b => b0b ~mall => b0b
        B0B => B0B ~mall => B0B
        Ｂｏｂ => Ｂｏｂ ~mall => Ｂｏｂ
        ＢＯＢ => ＢＯＢ ~mall => ＢＯＢ
        𝐁𝐨𝐛 => 𝐁𝐨𝐛 ~mall => 𝐁𝐨𝐛
        𝔹𝕠𝕓 => 𝔹𝕠𝕓 ~mall => 𝔹𝕠𝕓
        𝑩𝒐𝒃 => 𝑩𝒐𝒃 ~mall => 𝑩𝒐𝒃
        𝓑𝓸𝓫 => 𝓑𝓸𝓫 ~mall => 𝓑𝓸𝓫
        𝖡𝗈𝖻 => 𝖡𝗈𝖻 ~mall => 𝖡𝗈𝖻
        𝙱𝚘𝚋 => 𝙱𝚘𝚋 ~mall => 𝙱𝚘𝚋
        ᴮᵒᵇ => ᴮᵒᵇ ~mall => ᴮᵒᵇ
        Bᵒb => Bᵒb ~mall => Bᵒb
        Воb => Воb ~mall => Воb ~mall
        Вов => Вов ~mall => Вов
        ВОВ => ВОВ ~mall => ВОВ
        ΒΟΒ => ΒΟΒ ~mall => ΒΟΒ
        Bоb => Bоb ~mall => Bоb ~mall
        BΟb => BΟb ~mall => BΟb ~mall
        Bοb => Bοb ~mall => Bοb ~mall
        bоb => bоb ~mall => bоb ~mall
        Bob =) => Bob =) ~mall => Bob =) ~mall
        Bᴏʙ => Bᴏʙ ~mall => Bᴏʙ
        ʙᴏʙ => ʙᴏʙ ~mall => ʙᴏʙ
        ꓐꓳꓐ => ꓐꓳꓐ ~mall => ꓐꓳꓐ
        (Bob) => (Bob) ~mall => (Bob) ~mall
        [Bob] => [Bob] ~mall => [Bob] ~mall
        {Bob} => {Bob} ~mall => {Bob} ~mall
        <Bob> => Bob> ~mall => Bob> ~mall
        \"Bob\" => \"Bob\" ~mall => \"Bob\" ~mall
        “Bob” => “Bob” ~mall => “Bob” ~mall
        ‘Bob’ => ‘Bob’ ~mall => ‘Bob’ ~mall
        «Bob» => «Bob» ~mall => «Bob» ~mall
        ‹Bob› => ‹Bob› ~mall => ‹Bob› ~mall
        „Bob“ => „Bob“ ~mall => „Bob“ ~mall
        「Bob」 => 「Bob」 ~mall => 「Bob」 ~mall
        【Bob】 => 【Bob】 ~mall => 【Bob】 ~mall
        （Bob） => （Bob） ~mall => （Bob） ~mall
        Bob' => Bob' ~mall => Bob' ~mall
        'Bob' => 'Bob' ~mall => 'Bob' ~mall
        Bob’ => Bob’ ~mall => Bob’ ~mall
        Bob` => Bob` ~mall => Bob` ~mall
        `Bob` => Bob` ~mall => Bob` ~mall
        Bob´ => Bob´ ~mall => Bob´ ~mall
        Bob, => Bob, ~mall => Bob, ~mall
        Bob; => Bob; ~mall => Bob; ~mall
        ,Bob => Bob ~mall => Bob ~mall
        Bob、 => Bob、 ~mall => Bob、 ~mall
        Bob، => Bob، ~mall => Bob، ~mall
        Bob， => Bob， ~mall => Bob， ~mall
        Bob,, => Bob,, ~mall => Bob,, ~mall
        |Bob| => Bob| ~mall => Bob| ~mall
        Bob| => Bob| ~mall => Bob| ~mall
        Bob | => Bob | ~mall => Bob | ~mall
        Bob ★ => Bob ★ ~mall => Bob ★ ~mall
        Bob ☆ => Bob ☆ ~mall => Bob ☆ ~mall
        Bob ● => Bob ● ~mall => Bob ● ~mall
        Bob ◆ => Bob ◆ ~mall => Bob ◆ ~mall
        Bob ⭐ => Bob ⭐ ~mall => Bob ⭐ ~mall
        Bob 🔒 => Bob 🔒 ~mall => Bob 🔒 ~mall
        Bob 🔐 => Bob 🔐 ~mall => Bob 🔐 ~mall
        Bob 🛡 => Bob 🛡 ~mall => Bob 🛡 ~mall
        Bob 🔰 => Bob 🔰 ~mall => Bob 🔰 ~mall
        Bob 💯 => Bob 💯 ~mall => Bob 💯 ~mall
        Bob ⚡ => Bob ⚡ ~mall => Bob ⚡ ~mall
        Bob ⚠ => Bob ⚠ ~mall => Bob ⚠ ~mall
        Bob → => Bob → ~mall => Bob → ~mall
        Bob ■ => Bob ■ ~mall => Bob ■ ~mall
        Bob ❯ => Bob ❯ ~mall => Bob ❯ ~mall
        Bob ➤ => Bob ➤ ~mall => Bob ➤ ~mall
        Bob ◀ => Bob ◀ ~mall => Bob ◀ ~mall
        Bob ® => Bob ® ~mall => Bob ® ~mall
        Bob © => Bob © ~mall => Bob © ~mall
        Bob ° => Bob ° ~mall => Bob ° ~mall
        Bob ¦ => Bob ¦ ~mall => Bob ¦ ~mall
        Bob ¬ => Bob ¬ ~mall => Bob ¬ ~mall
        Bob 🟢 => Bob 🟢 ~mall => Bob 🟢 ~mall
        Bob 🟩 => Bob 🟩 ~mall => Bob 🟩 ~mall
        Bob 🔵 => Bob 🔵 ~mall => Bob 🔵 ~mall
        Bob 🔷 => Bob 🔷 ~mall => Bob 🔷 ~mall
        Bob 💬 => Bob 💬 ~mall => Bob 💬 ~mall
        Bob 🆗 => Bob 🆗 ~mall => Bob 🆗 ~mall
        Bob ⬤ => Bob ⬤ ~mall => Bob ⬤ ~mall
        Bob ◉ => Bob ◉ ~mall => Bob ◉ ~mall
        Bob ⦿ => Bob ⦿ ~mall => Bob ⦿ ~mall
        Bob ⊕ => Bob ⊕ ~mall => Bob ⊕ ~mall
        Bob ⟩ => Bob ⟩ ~mall => Bob ⟩ ~mall
        Bob ⌂ => Bob ⌂ ~mall => Bob ⌂ ~mall
        Bob ⎆ => Bob ⎆ ~mall => Bob ⎆ ~mall
        Bob ⏎ => Bob ⏎ ~mall => Bob ⏎ ~mall
        Bob ␣ => Bob ␣ ~mall => Bob ␣ ~mall
        Bob\u{2800} => Bob\u{2800} ~mall => Bob\u{2800} ~mall
        Bob \u{2800} => Bob \u{2800} ~mall => Bob \u{2800} ~mall
        Bob ❝ => Bob ❝ ~mall => Bob ❝ ~mall
        Bob ✓ => Bob ~mall => Bob ~mall
        ✓ Bob => Bob ~mall => Bob ~mall
        Bob ✔ => Bob ~mall => Bob ~mall
        Bob ☑ => Bob ~mall => Bob ~mall
        Bob ✅ => Bob ~mall => Bob ~mall
        Bob √ => Bob ~mall => Bob ~mall
        Bob 🗸 => Bob ~mall => Bob ~mall
        Bob ꪜ => Bob ~mall => Bob ~mall
        Bob✓ => Bob ~mall => Bob ~mall
        Bob ✓✓ => Bob ~mall => Bob ~mall
        Bob ✔\u{FE0F} => Bob ~mall => Bob ~mall
        Bob ⍻ => Bob ~mall => Bob ~mall
        * Bob => Bob ~mall => Bob ~mall
        ! Bob => Bob ~mall => Bob ~mall
        !! Bob => Bob ~mall => Bob ~mall
        - Bob => Bob ~mall => Bob ~mall
        -- Bob => Bob ~mall => Bob ~mall
        > Bob => Bob ~mall => Bob ~mall
        ~Bob => Bob ~mall => Bob ~mall
        _Bob_ => Bob_ ~mall => Bob_ ~mall
        +Bob => Bob ~mall => Bob ~mall
        /Bob => Bob ~mall => Bob ~mall
        =Bob= => Bob= ~mall => Bob= ~mall
        %Bob => Bob ~mall => Bob ~mall
        ✱ Bob => Bob ~mall => Bob ~mall
        — Bob => Bob ~mall => Bob ~mall
        ─── Bob ─── => Bob ─── ~mall => Bob ─── ~mall
        Bob: => Bob. ~mall => Bob. ~mall
        Bob： => Bob. ~mall => Bob. ~mall
        Bob∶ => Bob. ~mall => Bob. ~mall
        Bob꞉ => Bob. ~mall => Bob. ~mall
        ǃBob => Bob ~mall => Bob ~mall
        █Bob => Bob ~mall => Bob ~mall
        ?Bob => Bob ~mall => Bob ~mall
        \\Bob => Bob ~mall => Bob ~mall
        Bob ~ => Bob ~ ~mall => Bob ~ ~mall
        Bob~ => Bob~ ~mall => Bob~ ~mall
        Bob ( => Bob ( ~mall => Bob ( ~mall
        Bob) => Bob) ~mall => Bob) ~mall
        (Bob => (Bob ~mall => (Bob ~mall
        Bob mfrggzdfmztwq2lk => Bob ... ~mall => Bob ... ~mall
        Bob mfrggzdfmztwq2lkx => Bob ... ~mall => Bob ... ~mall
        Bob/mfrggzdfmztwq2lk => Bob/... ~mall => Bob/... ~mall
        """

    /// Names that have Bob's as a part, that are suspicious whoever is there, and that are nobody's but their owner's.
    private static let others = """
        Bob (verified) => Bob (verified) ~mall => Bob (verified) ~mall
        Bob, verified => Bob, verified ~mall => Bob, verified ~mall
        Bob (Active now) => Bob (Active now) ~mall => Bob (Active now) ~mall
        Bob's laptop => Bob's laptop ~mall => Bob's laptop
        Bob 2 => Bob 2 ~mall => Bob 2
        Bob2 => Bob2 ~mall => Bob2
        Bob 22 => Bob 22 ~mall => Bob 22
        Bob007 => Bob007 ~mall => Bob007
        007Bob => 007Bob ~mall => 007Bob
        Bob 1 => Bob 1 ~mall => Bob 1
        Bob_2 => Bob_2 ~mall => Bob_2
        Bob-2 => Bob-2 ~mall => Bob-2
        Bob Smith => Bob Smith ~mall => Bob Smith
        Bob smith => Bob smith ~mall => Bob smith
        BobSmith => BobSmith ~mall => BobSmith
        BobSMITH => BobSMITH ~mall => BobSMITH
        bobSmith => bobSmith ~mall => bobSmith
        Bob B. => Bob B. ~mall => Bob B.
        Bob's phone => Bob's phone ~mall => Bob's phone
        Bob’s phone => Bob’s phone ~mall => Bob’s phone
        Bobs laptop => Bobs laptop ~mall => Bobs laptop
        Bob laptop => Bob laptop ~mall => Bob laptop
        Bob-laptop => Bob-laptop ~mall => Bob-laptop
        Bob_laptop => Bob_laptop ~mall => Bob_laptop
        Bob.laptop => Bob.laptop ~mall => Bob.laptop
        Bob@laptop => Bob@laptop ~mall => Bob@laptop
        bob@example.org => bob@example.org ~mall => bob@example.org
        Bob/laptop => Bob/laptop ~mall => Bob/laptop
        Bob+Bob => Bob+Bob ~mall => Bob+Bob
        Bob Bob => Bob Bob ~mall => Bob Bob
        bob bob => bob bob ~mall => bob bob
        Bob & Alan => Bob & Alan ~mall => Bob & Alan
        The real Bob => The real Bob ~mall => The real Bob
        Real Bob => Real Bob ~mall => Real Bob
        I am Bob => I am Bob ~mall => I am Bob
        I'm Bob => I'm Bob ~mall => I'm Bob
        It is Bob => It is Bob ~mall => It is Bob
        Mr Bob => Mr Bob ~mall => Mr Bob
        Mr. Bob => Mr. Bob ~mall => Mr. Bob
        Dr. Bob => Dr. Bob ~mall => Dr. Bob
        Bob Jr. => Bob Jr. ~mall => Bob Jr.
        Bob II => Bob II ~mall => Bob II
        Bob the Builder => Bob the Builder ~mall => Bob the Builder
        Bob official => Bob official ~mall => Bob official
        Official Bob => Official Bob ~mall => Official Bob
        Bob OFFICIAL => Bob OFFICIAL ~mall => Bob OFFICIAL
        Bob online => Bob online ~mall => Bob online
        Bob here => Bob here ~mall => Bob here
        Bob at work => Bob at work ~mall => Bob at work
        Bob at home => Bob at home ~mall => Bob at home
        Bob new phone => Bob new phone ~mall => Bob new phone
        Bob new key => Bob new key ~mall => Bob new key
        new Bob => new Bob ~mall => new Bob
        Not Bob => Not Bob ~mall => Not Bob
        not-Bob => not-Bob ~mall => not-Bob
        Bob - work => Bob - work ~mall => Bob - work
        Bob - new => Bob - new ~mall => Bob - new
        Bob . . . ok => Bob . . . ok ~mall => Bob . . . ok
        Bob x => Bob x ~mall => Bob x
        x Bob => x Bob ~mall => x Bob
        x Bob x => x Bob x ~mall => x Bob x
        xX Bob Xx => xX Bob Xx ~mall => xX Bob Xx
        Bob v => Bob v ~mall => Bob v
        Bob V => Bob V ~mall => Bob V
        Bob ok => Bob ok ~mall => Bob ok
        OK Bob => OK Bob ~mall => OK Bob
        Bob yes => Bob yes ~mall => Bob yes
        Bob admin => Bob admin ~mall => Bob admin
        admin Bob => admin Bob ~mall => admin Bob
        Bob root => Bob root ~mall => Bob root
        Bob says hi => Bob says hi ~mall => Bob says hi
        Bob wrote => Bob wrote ~mall => Bob wrote
        Bob 12.30 => Bob 12.30 ~mall => Bob 12.30
        12.30 Bob => 12.30 Bob ~mall => 12.30 Bob
        B0b Smith => B0b Smith ~mall => B0b Smith
        BOB Smith => BOB Smith ~mall => BOB Smith
        b.o.b smith => b.o.b smith ~mall => b.o.b smith
        B o b Smith => B o b Smith ~mall => B o b Smith
        Ｂｏｂ Ｓｍｉｔｈ => Ｂｏｂ Ｓｍｉｔｈ ~mall => Ｂｏｂ Ｓｍｉｔｈ
        𝐁𝐨𝐛 𝐒𝐦𝐢𝐭𝐡 => 𝐁𝐨𝐛 𝐒𝐦𝐢𝐭𝐡 ~mall => 𝐁𝐨𝐛 𝐒𝐦𝐢𝐭𝐡
        Вов Иванов => Вов Иванов ~mall => Вов Иванов
        ΒΟΒ Νικος => ΒΟΒ Νικος ~mall => ΒΟΒ Νικος
        Bob 🦊 Smith => Bob 🦊 Smith ~mall => Bob 🦊 Smith
        Bob ❤ Zoe => Bob ❤ Zoe ~mall => Bob ❤ Zoe
        Bob 日本 => Bob 日本 ~mall => Bob 日本
        日本 Bob => 日本 Bob ~mall => 日本 Bob
        Bob שלום => Bob שלום ~mall => Bob שלום
        Bob² => Bob² ~mall => Bob²
        Bob ½ => Bob ½ ~mall => Bob ½
        Bob™ => Bob™ ~mall => Bob™ ~mall
        Bob℠ => Bob℠ ~mall => Bob℠ ~mall
        Bob и Ко => Bob и Ко ~mall => Bob и Ко ~mall
        Bob (work) => Bob (work) ~mall => Bob (work) ~mall
        Bob [2] => Bob [2] ~mall => Bob [2] ~mall
        Bob {x} => Bob {x} ~mall => Bob {x} ~mall
        Bob <bob@example.org> => Bob <bob@example.org> ~mall => Bob <bob@example.org> ~mall
        Bob (1) => Bob (1) ~mall => Bob (1) ~mall
        Bob (typing) => Bob (typing) ~mall => Bob (typing) ~mall
        Bob (away) => Bob (away) ~mall => Bob (away) ~mall
        Bob (open) => Bob (open) ~mall => Bob (open) ~mall
        Bob (delivered) => Bob (delivered) ~mall => Bob (delivered) ~mall
        Bob (you) => Bob (you) ~mall => Bob (you) ~mall
        Bob (not verified) => Bob (not verified) ~mall => Bob (not verified) ~mall
        Bob (key changed) => Bob (key changed) ~mall => Bob (key changed) ~mall
        Bob (Bob) => Bob (Bob) ~mall => Bob (Bob) ~mall
        Bob, Charlie => Bob, Charlie ~mall => Bob, Charlie ~mall
        Bob, Charlie and Dora => Bob, Charlie and Dora ~mall => Bob, Charlie and Dora ~mall
        Charlie, Bob => Charlie, Bob ~mall => Charlie, Bob ~mall
        Bob; Charlie => Bob; Charlie ~mall => Bob; Charlie ~mall
        Bob、Charlie => Bob、Charlie ~mall => Bob、Charlie ~mall
        Bob ‹x› => Bob ‹x› ~mall => Bob ‹x› ~mall
        Bob \"B\" Smith => Bob \"B\" Smith ~mall => Bob \"B\" Smith ~mall
        Bob “the man” => Bob “the man” ~mall => Bob “the man” ~mall
        Bob 'x' => Bob 'x' ~mall => Bob 'x' ~mall
        Bob, away => Bob, away ~mall => Bob, away ~mall
        Bob, online => Bob, online ~mall => Bob, online ~mall
        Bob | away => Bob | away ~mall => Bob | away ~mall
        Bob | verified => Bob | verified ~mall => Bob | verified ~mall
        Bob ⟨ok⟩ => Bob ⟨ok⟩ ~mall => Bob ⟨ok⟩ ~mall
        Bob ➜ away => Bob ➜ away ~mall => Bob ➜ away ~mall
        Bob ★ admin => Bob ★ admin ~mall => Bob ★ admin ~mall
        Bob 🔒 verified => Bob 🔒 verified ~mall => Bob 🔒 verified ~mall
        Bob 🟢 online => Bob 🟢 online ~mall => Bob 🟢 online ~mall
        Bob • Active now => Bob • Active now ~mall => Bob • Active now ~mall
        Bob verified => Bob verified ~mall => Bob verified ~mall
        Bob Verified => Bob Verified ~mall => Bob Verified ~mall
        Bob VERIFIED => Bob VERIFIED ~mall => Bob VERIFIED ~mall
        Bob - verified => Bob - verified ~mall => Bob - verified ~mall
        Bob is verified => Bob is verified ~mall => Bob is verified ~mall
        verified Bob => verified Bob ~mall => verified Bob ~mall
        Verified by Bob => Verified by Bob ~mall => Verified by Bob ~mall
        Bob Active now => Bob Active now ~mall => Bob Active now ~mall
        Bob active now => Bob active now ~mall => Bob active now ~mall
        Bob away => Bob away ~mall => Bob away ~mall
        Bob Away => Bob Away ~mall => Bob Away ~mall
        Away Bob => Away Bob ~mall => Away Bob ~mall
        Bob is typing => Bob is typing ~mall => Bob is typing ~mall
        Bob is here => Bob is here ~mall => Bob is here ~mall
        Bob has left => Bob has left ~mall => Bob has left ~mall
        Bob is typing... => Bob is typing... ~mall => Bob is typing... ~mall
        Bob muted => Bob muted ~mall => Bob muted ~mall
        Bob blocked => Bob blocked ~mall => Bob blocked ~mall
        Bob delivered => Bob delivered ~mall => Bob delivered ~mall
        delivered to Bob => delivered to Bob ~mall => delivered to Bob ~mall
        Bob Last seen today => Bob Last seen today ~mall => Bob Last seen today ~mall
        Bob and others => Bob and others ~mall => Bob and others ~mall
        You and Bob => You and Bob ~mall => You and Bob ~mall
        Someone Bob => Someone Bob ~mall => Someone Bob ~mall
        Bob You => Bob You ~mall => Bob You ~mall
        Bob Inkling => Bob Inkling ~mall => Bob Inkling ~mall
        Inkling Bob => Inkling Bob ~mall => Inkling Bob ~mall
        Alice and Bob => Alice and Bob ~mall => Alice and Bob ~mall
        Bob Alice => Bob Alice ~mall => Bob Alice ~mall
        Bob: hi => Bob. hi ~mall => Bob. hi ~mall
        Bob: verified => Bob. verified ~mall => Bob. verified ~mall
        Bob ✓ Smith => Bob Smith ~mall => Bob Smith ~mall
        * Bob has left => Bob has left ~mall => Bob has left ~mall
        > Bob Smith => Bob Smith ~mall => Bob Smith ~mall
        --- Bob Smith --- => Bob Smith --- ~mall => Bob Smith --- ~mall
        [12.30] Bob => [12.30] Bob ~mall => [12.30] Bob ~mall
        12:30 Bob => 12.30 Bob ~mall => 12.30 Bob ~mall
        Bob ~nfxg => Bob ~nfxg ~mall => Bob ~nfxg ~mall
        Bob ~nfxg ✓ => Bob ~nfxg ~mall => Bob ~nfxg ~mall
        ~nfxg Bob => nfxg Bob ~mall => nfxg Bob ~mall
        Bob#nfxg => Bob#nfxg ~mall => Bob#nfxg
        Bob nfxg => Bob nfxg ~mall => Bob nfxg
        nfxg62dfoj3xs2lk => Someone ~mall => Someone ~mall
        mfrggzdfmztwq2lk => Someone ~mall => Someone ~mall
        MFRGGZDFMZTWQ2LK => Someone ~mall => Someone ~mall
        Bob mfrggzdfmztwq2lk Bob => Bob ... Bob ~mall => Bob ... Bob ~mall
        ｍｆｒｇｇｚｄｆｍｚｔｗｑ２ｌｋ Bob => Someone ~mall => Someone ~mall
        Bob nfxg-62df-oj3x-s2lk => Bob nfxg-62df-oj3x-s2lk ~mall => Bob nfxg-62df-oj3x-s2lk ~mall
        nfxg 62df oj3x s2lk => nfxg 62df oj3x s2lk ~mall => nfxg 62df oj3x s2lk ~mall
        Bob m1rggzdfmztwq2lk => Bob m1rggzdfmztwq2lk ~mall => Bob m1rggzdfmztwq2lk ~mall
        mallorymallory22 Mallory => ... Mallory ~mall => ... Mallory ~mall
        Zoe (mfrggzdfmztwq2lk) => Zoe (...) ~mall => Zoe (...) ~mall
        xnfxg62dfoj3xs2lkx Zoe => ... Zoe ~mall => ... Zoe ~mall
        Bob a b c d e f g h => Bob a b c d e f g h ~mall => Bob a b c d e f g h ~mall
        a b c d e f g h Bob => a b c d e f g h Bob ~mall => a b c d e f g h Bob ~mall
        a b c d e f g h i => a b c d e f g h i ~mall => a b c d e f g h i ~mall
        B.o.b.i.s.h.e.r.e => B.o.b.i.s.h.e.r.e ~mall => B.o.b.i.s.h.e.r.e ~mall
        Bobby => Bobby => Bobby
        Bobbie => Bobbie => Bobbie
        Bobo => Bobo => Bobo
        Robert => Robert => Robert
        Rob => Rob => Rob
        Kabob => Kabob => Kabob
        Bobcat => Bobcat => Bobcat
        bobsled => bobsled => bobsled
        Boba => Boba => Boba
        Bo => Bo => Bo
        B => B => B
        Bb => Bb => Bb
        Bod => Bod => Bod
        8ob => 8ob => 8ob
        Bo8 => Bo8 => Bo8
        Bób => Bób => Bób
        Boḅ => Boḅ => Boḅ
        Böb => Böb => Böb
        Bøb => Bøb => Bøb
        Bəb => Bəb => Bəb
        Bobb => Bobb => Bobb
        Boob => Boob => Boob
        Bbob => Bbob => Bbob
        Rob Roberts => Rob Roberts => Rob Roberts
        Dave => Dave => Dave
        Eve => Eve => Eve
        Carol => Carol => Carol
        Zoë => Zoë => Zoë
        José => José => José
        Jose => Jose => Jose
        O'Neill => O'Neill => O'Neill
        O’Neill => O’Neill => O’Neill
        't Hooft => 't Hooft => 't Hooft
        D'Arcy => D'Arcy => D'Arcy
        Jean-Luc => Jean-Luc => Jean-Luc
        Anna Maria => Anna Maria => Anna Maria
        Anna-Maria => Anna-Maria => Anna-Maria
        J. R. R. Tolkien => J. R. R. Tolkien => J. R. R. Tolkien
        Smith => Smith => Smith
        Smith B => Smith B => Smith B
        Ludwig van Beethoven => Ludwig van Beethoven => Ludwig van Beethoven
        Zoe 🦊 => Zoe 🦊 => Zoe 🦊
        Zoe ❤ => Zoe ❤ => Zoe ❤
        🦊 Zoe => 🦊 Zoe => 🦊 Zoe
        Zoe! => Zoe! => Zoe!
        Zoe_ => Zoe_ => Zoe_
        @Zoe => @Zoe => @Zoe
        #1 fan => #1 fan => #1 fan
        C++ fan => C++ fan => C++ fan
        Müller => Müller => Müller
        Straße => Straße => Straße
        Жанна => Жанна => Жанна
        Борис => Борис => Борис
        Νίκος => Νίκος => Νίκος
        日本太郎 => 日本太郎 => 日本太郎
        ローラ => ローラ => ローラ
        김철수 => 김철수 => 김철수
        علي => علي => علي
        דוד => דוד => דוד
        राम => राम => राम
        สมชาย => สมชาย => สมชาย
        Աննա => Աննա => Աննա
        ქეთი => ქეთი => ქეთი
        7 => 7 => 7
        42 => 42 => 42
        R2-D2 => R2-D2 => R2-D2
        n00b => n00b => n00b
        l33t => l33t => l33t
        Al => Al => Al
        Zoe 2 => Zoe 2 => Zoe 2
        Zoe's phone => Zoe's phone => Zoe's phone
        Dr. Zoe => Dr. Zoe => Dr. Zoe
        Mr. Smith => Mr. Smith => Mr. Smith
        Zoe at work => Zoe at work => Zoe at work
        Team Rot-Weiß => Team Rot-Weiß => Team Rot-Weiß
        Kitchen iPad => Kitchen iPad => Kitchen iPad
        Küche => Küche => Küche
        Zoe & Max => Zoe & Max => Zoe & Max
        Zoe + Max => Zoe + Max => Zoe + Max
        Zoe/Max => Zoe/Max => Zoe/Max
        Zoe.Max => Zoe.Max => Zoe.Max
        zoe@example.org => zoe@example.org => zoe@example.org
        Christopher Smith 2 => Christopher Smith 2 => Christopher Smith 2
        christophersmith2 => christophersmith2 => christophersmith2
        Wolfeschlegelsteinhausen => Wolfeschlegelsteinhausen => Wolfeschlegelsteinhausen
        Christopherjones => Christopherjones => Christopherjones
        Xhosa => Xhosa => Xhosa
        Bo Bsmith => Bo Bsmith => Bo Bsmith
        Bo-bsmith => Bo-bsmith => Bo-bsmith
        Abob => Abob => Abob
        ob => ob => ob
        Ob B => Ob B => Ob B
        Bo.bby => Bo.bby => Bo.bby
        You => You ~mall => You ~mall
        YOU => YOU ~mall => YOU ~mall
        Someone => Someone ~mall => Someone ~mall
        Nobody => Nobody ~mall => Nobody ~mall
        Others => Others ~mall => Others ~mall
        2 others => 2 others ~mall => 2 others ~mall
        Alice => Alice ~mall => Alice ~mall
        ALICE => ALICE ~mall => ALICE ~mall
        @Alice => @Alice ~mall => @Alice ~mall
        Alice_ => Alice_ ~mall => Alice_ ~mall
        Alice's laptop => Alice's laptop ~mall => Alice's laptop ~mall
        A1ice => A1ice ~mall => A1ice ~mall
        Аlice => Аlice ~mall => Аlice ~mall
        The real Alice => The real Alice ~mall => The real Alice ~mall
        Zoe verified => Zoe verified ~mall => Zoe verified ~mall
        Zoe (verified) => Zoe (verified) ~mall => Zoe (verified) ~mall
        Zoe, verified => Zoe, verified ~mall => Zoe, verified ~mall
        Zoe is typing => Zoe is typing ~mall => Zoe is typing ~mall
        Active now => Active now ~mall => Active now ~mall
        Zoe Active now => Zoe Active now ~mall => Zoe Active now ~mall
        Zoe ★ => Zoe ★ ~mall => Zoe ★ ~mall
        Zoe 🔒 => Zoe 🔒 ~mall => Zoe 🔒 ~mall
        Zoe → Max => Zoe → Max ~mall => Zoe → Max ~mall
        “Zoe” => “Zoe” ~mall => “Zoe” ~mall
        Zoe, Max => Zoe, Max ~mall => Zoe, Max ~mall
        Zoe | Max => Zoe | Max ~mall => Zoe | Max ~mall
        <Zoe> => Zoe> ~mall => Zoe> ~mall
        Zoe 🟢 => Zoe 🟢 ~mall => Zoe 🟢 ~mall
        Zoe ✓ => Zoe ~mall => Zoe ~mall
        Zoe: hi => Zoe. hi ~mall => Zoe. hi ~mall
        * Zoe has left => Zoe has left ~mall => Zoe has left ~mall
        Zoe ~abcd => Zoe ~abcd ~mall => Zoe ~abcd ~mall
        Zoе => Zoе ~mall => Zoе ~mall
        Αdam => Αdam ~mall => Αdam ~mall
        Zoe \u{FFFD} => Zoe \u{FFFD} ~mall => Zoe \u{FFFD} ~mall
        verified => verified ~mall => verified ~mall
        Inkling => Inkling ~mall => Inkling ~mall
        inkling => inkling ~mall => inkling ~mall
        delivered => delivered ~mall => delivered ~mall
        🦊 => Someone ~mall => Someone ~mall
         => Someone ~mall => Someone ~mall
        --- => Someone ~mall => Someone ~mall
        ✓ => Someone ~mall => Someone ~mall
        \u{1B}[2J => Someone ~mall => Someone ~mall
        \u{200B} => Someone ~mall => Someone ~mall
        """
}
