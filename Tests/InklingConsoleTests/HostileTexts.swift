import Testing

/// Texts that mean harm where they are shown as they are: as a name, a message, the name of a chat or an error.
enum HostileTexts {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let text: String
        var testDescription: String { name }
    }

    static let all: [Row] =
        controls + sequences + overwriting + invisible + piled + unusable + imitations + alike + wide + long

    private static func rows(_ table: [(String, String)]) -> [Row] { table.map { Row(name: $0.0, text: $0.1) } }

    private static func times(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static func scalar(_ value: UInt32) -> String { Unicode.Scalar(value).map { String(Character($0)) } ?? "" }

    private static func each(_ name: String, _ values: [UInt32], _ text: (String) -> String) -> [Row] {
        values.map { Row(name: "\(name) U+\(String($0, radix: 16, uppercase: true))", text: text(scalar($0))) }
    }

    /// Every control character on its own.
    private static let controls = each("control", Array(0x00...0x1F) + Array(0x7F...0x9F)) { "Bo" + $0 + "b" }

    private static let sequences = rows([
        ("colour", "\u{1B}[31mred"), ("colour, never reset", "\u{1B}[1;5;7;31m"), ("256 colours", "\u{1B}[38;5;196mx"),
        ("true colour", "\u{1B}[38;2;255;0;0mx"), ("colour with colons", "\u{1B}[38:2::255:0:0mx"),
        ("hidden text", "\u{1B}[8mhidden\u{1B}[0m"), ("our own reset", "\u{1B}[0m"), ("our own dim", "\u{1B}[2mx"),
        ("our own bold", "\u{1B}[1mBob:\u{1B}[0m hi"), ("our own colour", "\u{1B}[1;32mBob:\u{1B}[0m hi"),
        ("clear screen", "\u{1B}[2J"), ("clear history", "\u{1B}[3J"), ("erase below", "\u{1B}[J"),
        ("erase row", "\u{1B}[2K"), ("home", "\u{1B}[H"), ("move to", "\u{1B}[1;1H"), ("move up", "\u{1B}[99A"),
        ("move down", "\u{1B}[99B"), ("move right", "\u{1B}[99C"), ("move left", "\u{1B}[99D"),
        ("to the column", "\u{1B}[1G"), ("to the row", "\u{1B}[1d"), ("lines on", "\u{1B}[5E"),
        ("line before", "\u{1B}[5F"), ("insert lines", "\u{1B}[9L"), ("delete lines", "\u{1B}[9M"),
        ("insert blanks", "\u{1B}[9@"), ("delete characters", "\u{1B}[9P"), ("erase characters", "\u{1B}[9X"),
        ("repeat", "x\u{1B}[9999b"), ("scroll up", "\u{1B}[99S"), ("scroll down", "\u{1B}[99T"),
        ("scroll region", "\u{1B}[1;3r"), ("save cursor", "\u{1B}[s"), ("restore cursor", "\u{1B}[u"),
        ("report position", "\u{1B}[6n"), ("report status", "\u{1B}[5n"), ("report device", "\u{1B}[c"),
        ("report device 2", "\u{1B}[>c"), ("report version", "\u{1B}[>q"), ("report title", "\u{1B}[21t"),
        ("report size", "\u{1B}[18t"), ("minimise", "\u{1B}[2t"), ("resize", "\u{1B}[8;1;1t"), ("print", "\u{1B}[5i"),
        ("alternate screen", "\u{1B}[?1049h"), ("old alternate screen", "\u{1B}[?47h"), ("no wrap", "\u{1B}[?7l"),
        ("wrap", "\u{1B}[?7h"), ("hide cursor", "\u{1B}[?25l"), ("no bracketed paste", "\u{1B}[?2004l"),
        ("mouse", "\u{1B}[?1003h"), ("focus reports", "\u{1B}[?1004h"), ("application keys", "\u{1B}[?1h"),
        ("reverse screen", "\u{1B}[?5h"), ("synchronized output", "\u{1B}[?2026h"), ("keyboard protocol", "\u{1B}[>1u"),
        ("modify keys", "\u{1B}[>4;2m"), ("soft reset", "\u{1B}[!p"), ("cursor shape", "\u{1B}[6 q"),
        ("insert mode", "\u{1B}[4h"), ("line feed mode", "\u{1B}[20h"), ("cut sequence", "\u{1B}["),
        ("cut parameters", "\u{1B}[31;"), ("long parameters", "\u{1B}[" + times("1;", 200) + "m"),
        ("end of a paste", "\u{1B}[201~/quit\r"), ("start of a paste", "\u{1B}[200~"), ("function key", "\u{1B}[[A"),
        ("full reset", "\u{1B}c"), ("save", "\u{1B}7"), ("restore", "\u{1B}8"), ("index", "\u{1B}D"),
        ("reverse index", "\u{1B}M"), ("next line, 7 bits", "\u{1B}E"), ("set tab", "\u{1B}H"),
        ("line drawing", "\u{1B}(0lqk"), ("character set 1", "\u{1B})0\u{E}x"), ("double height", "\u{1B}#3"),
        ("test screen", "\u{1B}#8"), ("application keypad", "\u{1B}="), ("single shift", "\u{1B}Nx\u{1B}Ox"),
        ("lock memory", "\u{1B}l"), ("character set UTF-8 off", "\u{1B}%@"), ("8-bit controls", "\u{1B} G"),
        ("lone Escape", "\u{1B}"), ("two Escapes", "\u{1B}\u{1B}[A"), ("Escape and a letter", "\u{1B}é"),
        ("title", "\u{1B}]0;title\u{7}"), ("title and terminator", "\u{1B}]2;title\u{1B}\\"),
        ("icon", "\u{1B}]1;x\u{7}"),
        ("clipboard", "\u{1B}]52;c;aGk=\u{1B}\\"), ("clipboard asked for", "\u{1B}]52;c;?\u{7}"),
        ("palette", "\u{1B}]4;1;rgb:00/00/00\u{7}"), ("foreground", "\u{1B}]10;#000000\u{7}"),
        ("colour asked for", "\u{1B}]11;?\u{7}"), ("palette reset", "\u{1B}]104\u{7}"),
        ("link", "\u{1B}]8;;http://example.org\u{1B}\\Bob\u{1B}]8;;\u{1B}\\"), ("directory", "\u{1B}]7;file://h/\u{7}"),
        ("notification", "\u{1B}]9;you won\u{7}"), ("notification 2", "\u{1B}]777;notify;a;b\u{7}"),
        ("inline picture", "\u{1B}]1337;File=inline=1:AAAA\u{7}"), ("shell marks", "\u{1B}]133;A\u{7}"),
        ("open string", "\u{1B}]0;never ended"), ("long string", "\u{1B}]0;" + times("x", 500)),
        ("device control", "\u{1B}P$q\"p\u{1B}\\"), ("sixel", "\u{1B}Pq#0;2;0;0;0~\u{1B}\\"),
        ("user keys", "\u{1B}P1;1|17/6162\u{1B}\\"), ("terminal name asked for", "\u{1B}P+q544e\u{1B}\\"),
        ("passed through", "\u{1B}Ptmux;\u{1B}\u{1B}]52;c;aGk=\u{7}\u{1B}\\"),
        ("graphics", "\u{1B}_Gf=32;AAAA\u{1B}\\"),
        ("application", "\u{1B}_x\u{1B}\\"), ("privacy", "\u{1B}^x\u{1B}\\"), ("start of string", "\u{1B}Xx\u{1B}\\"),
        ("screen's title", "\u{1B}ktitle\u{1B}\\"), ("8-bit control sequence", "\u{9B}31mred"),
        ("8-bit clear", "\u{9B}2J"), ("8-bit title", "\u{9D}0;x\u{9C}"), ("8-bit device control", "\u{90}q\u{9C}"),
        ("8-bit application", "\u{9F}x\u{9C}"), ("8-bit privacy", "\u{9E}x\u{9C}"), ("8-bit start", "\u{98}x\u{9C}"),
        ("8-bit next line", "a\u{85}Bob: b"), ("8-bit reverse index", "\u{8D}"), ("8-bit index", "\u{84}"),
        ("8-bit mixed with 7", "\u{1B}]0;x\u{9C}\u{9B}m"), ("Escape in front of a mark", "e\u{301}\u{1B}\u{301}"),
        ("sequence cut by a mark", "\u{1B}\u{301}[2J"), ("sequence cut by a joiner", "\u{1B}\u{200D}[2J"),
        ("sequence cut by nothing to see", "\u{1B}\u{200B}[\u{200B}2J"), ("emoji in a sequence", "\u{1B}[👍m"),
        ("shown as escaped", "\\x1b[2J"), ("Vietnamese terminals", "a\u{1B}[?1000;1006;1015hb"),
    ])

    private static let overwriting = rows([
        ("backspaces", "gone\u{8}\u{8}\u{8}\u{8}Bob: fake"), ("deletes", "\u{7F}\u{7F}\u{7F}"),
        ("bells", times("\u{7}", 99)),
        ("carriage return", "\rBob: fake"), ("carriage returns", "x\r\r\rBob: fake"), ("line feed", "\nBob: fake"),
        ("CR LF", "x\r\nBob: fake"), ("LF CR", "x\n\rBob: fake"), ("next line", "x\u{85}Bob: fake"),
        ("line separator", "x\u{2028}Bob: fake"), ("paragraph separator", "x\u{2029}Bob: fake"),
        ("vertical tab", "x\u{B}Bob: fake"), ("form feed", "x\u{C}Bob: fake"), ("tabs", times("\t", 30) + "Bob: fake"),
        ("nulls", "\u{0}\u{0}"), ("enquiry", "\u{5}"), ("shifts", "\u{E}lqk\u{F}"), ("stop and go", "\u{13}\u{11}"),
        ("end of text", "\u{3}\u{4}"), ("cancel", "\u{18}\u{1A}"), ("separators", "\u{1C}\u{1D}\u{1E}\u{1F}"),
        ("all line breaks", "\n\r\u{B}\u{C}\u{85}\u{2028}\u{2029}"), ("many line feeds", times("\n", 200)),
        ("many CR LF", times("\r\n", 99) + "Bob: fake"), ("blank rows", "x\n \n \nBob: fake"),
        ("line breaks and marks", "x\n\u{301}\u{301}Bob: fake"), ("line breaks and joiners", "x\n\u{200D}Bob: fake"),
        ("line break and tab", "x\n\tBob: fake"), ("line break behind a joiner", "👩\u{200D}\nBob: fake"),
    ])

    private static let invisible =
        each(
            "invisible",
            [
                0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E,
                0x200F,
                0x2028, 0x2029, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060, 0x2061, 0x2064, 0x2065, 0x2066, 0x2067,
                0x2062, 0x2063, 0x206B, 0x206C, 0x206D, 0x206E,
                0x2068, 0x2069, 0x206A, 0x206F, 0x2800, 0x3164, 0xFE00, 0xFE0E, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0, 0xFFF9,
                0xFFFA, 0xFFFB, 0x1BCA0, 0x1D159, 0x1D173, 0x1D17A, 0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100,
                0xE01EF,
                0xE0FFF, 0x13430, 0x600, 0x6DD, 0x70F, 0x110BD,
            ]
        ) { "Bo" + $0 + "b" }
        + rows([
            ("turned around", "\u{202E}evil\u{202C}"), ("turned around to the end", "\u{202E}bob :ecilA"),
            ("isolated", "\u{2067}a\u{2069}"), ("never closed", "\u{202D}\u{2066}\u{2067}\u{2068}x"),
            ("closed only", "\u{202C}\u{2069}\u{2069}"), ("deep", times("\u{202B}", 130) + "x"),
            ("letter mark", "a\u{61C}1"), ("only zero width", times("\u{200B}", 1_000)),
            ("byte orders", times("\u{FEFF}", 9)),
            ("tags spell", "Bob\u{E0065}\u{E0076}\u{E0069}\u{E006C}\u{E007F}"),
            ("flag of tags", "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"),
            ("variations", "a" + times("\u{FE00}", 99)), ("further variations", "a" + times("\u{E0100}", 99)),
            ("pictures as text", "☎\u{FE0E}❤\u{FE0E}"), ("text as pictures", "1\u{FE0F}2\u{FE0F}"),
            ("many VS16", "❤" + times("\u{FE0F}", 60)),
            ("annotation", "\u{FFF9}a\u{FFFA}b\u{FFFB}"), ("musical", "\u{1D173}x\u{1D174}"),
            ("shorthand", "\u{1BCA0}\u{1BCA1}"),
            ("Hangul fillers", times("\u{3164}", 20)), ("half fillers", times("\u{FFA0}", 20)),
            ("jamo fillers", times("\u{115F}\u{1160}", 20)),
            ("Mongolian", "\u{180B}\u{180C}\u{180D}\u{180E}"), ("Khmer", "\u{17B4}\u{17B5}"),
            ("blank Braille", times("\u{2800}", 20)),
            ("only blanks", "     "), ("no-break blanks", "\u{A0}\u{A0}"), ("ideographic blanks", "\u{3000}\u{3000}"),
            (
                "every blank",
                "\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200A}\u{202F}\u{205F}"
            ),
            ("nothing", ""), ("blanks in a name", "Bob   \u{A0}\u{3000}  B."), ("blanks around", "   Bob   "),
            ("many blanks and a name", times(" ", 33) + "Bob: fake"),
        ])

    private static let piled = rows([
        ("zalgo", "Z" + times("\u{300}\u{316}\u{334}", 200)),
        ("zalgo everywhere", times("a" + times("\u{30D}", 30), 30)),
        ("marks without a base", times("\u{301}", 300)), ("marks on a blank", "x " + times("\u{301}", 99)),
        ("circles", times("\u{20DD}", 50)), ("keycaps", "1" + times("\u{20E3}", 50)),
        ("slashes", "Bob" + times("\u{338}", 20)),
        ("Thai marks", "ก" + times("\u{E49}", 99)), ("Hebrew points", "א" + times("\u{5B0}", 99)),
        ("Arabic marks", "ب" + times("\u{64B}", 99)), ("Devanagari marks", "क" + times("\u{93F}", 99)),
        ("Tamil vowels", "த" + times("\u{BCB}", 60)), ("Tibetan", "ཀ" + times("\u{F71}", 99)),
        ("Myanmar", "က" + times("\u{103A}", 99)),
        ("marks of several kinds", "a" + times("\u{301}\u{20DD}\u{93F}\u{FE0F}\u{200D}", 40)),
        ("marks after line breaks", times("\n\u{301}", 50)),
        ("marks after controls", times("\u{1B}\u{301}", 20)),
        ("marks after unusable", times("\u{E000}\u{301}\u{301}", 20)),
        ("joiners", times("\u{200D}", 500)), ("joined letters", times("a\u{200D}", 200)),
        ("non-joiners", times("a\u{200C}", 200)),
        ("joined families", times("👩\u{200D}", 300)), ("joined flags", times("🇩\u{200D}", 100)),
        ("regional indicators", times("🇩", 99)),
        ("skin tones", "👍" + times("🏽", 200)), ("skin tones of nobody", times("🏽", 100)),
        ("skin tones of a digit", "1" + times("🏽", 100)),
        ("joined and toned", times("👩🏽\u{200D}🚀", 60)), ("consonants", times("क\u{94D}", 200)),
        ("consonants joined", times("क\u{94D}\u{200D}", 200)), ("Hangul initials", times("\u{1100}", 200)),
        ("Hangul vowels", "가" + times("\u{1161}", 300)), ("Hangul finals", "각" + times("\u{11A8}", 300)),
        ("old Hangul", times("\u{A960}\u{D7B0}\u{D7CB}", 100)), ("voicing marks", "ｶ" + times("\u{FF9E}", 200)),
        ("number signs", times("\u{600}", 200)), ("prepended", times("\u{110BD}", 100) + "x"),
        ("prepended letters", times("\u{D4E}", 200)),
        ("spacing marks", "ක" + times("\u{DCF}", 100)), ("music", "\u{1D157}" + times("\u{1D165}", 90)),
    ])

    private static let unusable =
        each(
            "unusable",
            [
                0xE000, 0xF8FF, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x2FFFF, 0x10FFFF, 0x10FFFE, 0xF0000, 0xFFFFD,
                0x100000, 0x378, 0x50000, 0x3FFFD, 0xDFFFF, 0xFFFC, 0xFFFD,
            ]
        ) { "Bo" + $0 + "b" }
        + rows([
            ("half a pair", String(decoding: [0x61, 0xED, 0xA0, 0x80, 0x62], as: UTF8.self)),
            ("overlong", String(decoding: [0x61, 0xC0, 0x9B, 0x5B, 0x32, 0x4A], as: UTF8.self)),
            ("cut", String(decoding: [0x61, 0xF0, 0x9F, 0x98], as: UTF8.self)),
            ("lone continuation", String(decoding: [0x9B, 0x32, 0x4A], as: UTF8.self)),
            ("icons of fonts", times("\u{E0B0}", 40)), ("plane 16", times("\u{10FFFD}", 40)),
        ])

    private static let imitations = rows([
        ("a message", "Bob: I never said this"), ("a message of one's own", "You: yes"), ("oneself", "You"),
        ("oneself, small", "you"),
        ("nobody", "Someone"), ("a notice", "* Bob has left"), ("a notice without a blank", "*Bob has left"),
        ("a star", "*"),
        ("wide star", "＊ Bob has left"), ("small star", "﹡ Bob has left"), ("heavy star", "✱ Bob has left"),
        ("star operator", "∗ Bob has left"),
        ("low star", "⁎ Bob has left"), ("stars", "*** Bob"), ("an error", "! Bob is not here"),
        ("a warning", "!! Bob has another key"),
        ("wide exclamation", "！ error"), ("small exclamation", "﹗ error"), ("click", "ǃ error"),
        ("picture of an exclamation", "❗ error"),
        ("a separator", "--- Tuesday, 3 March 2026 ---"), ("long dash", "— Bob"), ("box", "─── Bob ───"),
        ("a prompt", "lobby> /quit"),
        ("a prompt's sign", "> rm"), ("a shell's prompt", "$ sudo reboot"), ("a root shell", "# reboot"),
        ("a time", "12:34 Bob: yes"),
        ("a time of its own", "12:34"), ("a suffix", "Bob ~bbbb"), ("a suffix alone", "~bbbb"),
        ("an open chat", "lobby (open)"),
        ("typing", "Bob is typing..."), ("delivery", "* May not have reached Bob (out of reach): hello"),
        ("wide colon", "Bob： I said so"),
        ("small colon", "Bob﹕ I said so"), ("ratio", "Bob∶ I said so"), ("letter colon", "Bob꞉ I said so"),
        ("Hebrew colon", "Bob׃ I said so"),
        ("Armenian colon", "Bob։ I said so"), ("modifier colon", "Bobː I said so"),
        ("presentation colon", "Bob︓ I said so"),
        ("lines of Bob", "hi\nBob: this too\nBob: and this"),
        ("lines of a notice", "hi\n* Bob has left\n* Alice has left"),
        ("lines of one's own", "hi\nYou: yes\nYou: send it"), ("lines of an error", "hi\n! your key is lost"),
        ("lines of a prompt", "hi\nlobby> /invite\n"), ("lines of a day", "hi\n--- Tuesday, 3 March 2026 ---"),
        ("lines with a time", "hi\n12:34 Bob: yes"),
        ("indented lines", "hi\n  Bob: yes\n    * notice"), ("padding to 40", "a" + times(" ", 30) + "Bob: I said so"),
        ("padding to 80", "a" + times(" ", 70) + "Bob: I said so"),
        ("padding to 120", "a" + times(" ", 110) + "* Bob has left"),
        ("padding of no-break blanks", "a" + times("\u{A0}", 70) + "Bob: I said so"),
        ("padding of wide blanks", "a" + times("\u{3000}", 36) + "Bob: I said so"),
        ("padding of letters", times("x", 33) + "Bob: I said so"), ("a command", "/quit"), ("two slashes", "//quit"),
        ("JSON", "{\"type\":\"message\"}"),
        ("log line", "2026-03-03T12:34:56Z error inkling: x"), ("HTML", "<script>alert(1)</script>"),
        ("shell command", "$(reboot) `reboot`; reboot"),
        ("format", "%s%n%x%d \\(name) \\n \\u{1B}[2J"), ("caret", "^[[2J"), ("octal", "\\033[2J \\e[2J"),
    ])

    private static let alike = rows([
        ("Cyrillic o", "Bоb"), ("Cyrillic B", "Вob"), ("Greek O", "BΟb"), ("all Cyrillic", "Вов"), ("fullwidth", "Ｂｏｂ"),
        ("mathematical", "𝐁𝐨𝐛"),
        ("double-struck", "𝔹𝕠𝕓"), ("circled", "Ⓑⓞⓑ"), ("superscript", "ᴮᵒᵇ"), ("small capitals", "Bᴏʙ"),
        ("zero", "B0b"), ("upper case", "BOB"),
        ("lower case", "bob"), ("with a blank", "B ob"), ("with a dot below", "Boḅ"),
        ("with a hidden blank", "Bo\u{200B}b"), ("with a hidden mark", "Bob\u{34F}"),
        ("with a joiner", "Bo\u{200D}b"), ("with blank Braille", "Bob\u{2800}"), ("with a soft hyphen", "Bo\u{AD}b"),
        ("with an at sign", "@Bob"),
        ("with a full stop", "Bob."), ("decomposed", "Zoe\u{308}"), ("Kelvin", "\u{212A}ate"), ("long s", "Boſs"),
        ("sharp s", "Straße"), ("dotless i", "Alıce"),
        ("dotted I", "İda"), ("ligature", "ﬁona"), ("Roman numeral", "Ⅷ"), ("Latin and Greek", "Aliκe"),
        ("Latin, Greek, Cyrillic", "aαа"),
    ])

    private static let wide = rows([
        ("ideographs", times("日", 500)), ("ideographs and a letter", "x" + times("日", 200)),
        ("fullwidth letters", times("Ｗ", 200)),
        ("pictures", times("😀", 200)), ("very wide", times("﷽", 100)), ("Bassa Vah", times("𒐫", 60)),
        ("long dashes", times("⸻", 60)),
        ("Hebrew", "שלום עולם"), ("Arabic", "مرحبا بالعالم"), ("Hebrew and numbers", "שלום 123 Bob: 456"),
        ("Arabic letters in a name", "علي"),
        ("Hebrew name and colon", "דוד:"), ("right-to-left lines", "שלום\nBob: שלום"), ("Syriac", "ܫܠܡܐ"),
        ("N'Ko", "ߒߞߏ"), ("Mongolian letters", "ᠮᠣᠩᠭᠣᠯ"),
        ("control pictures", "␛[2J␇␈"), ("box drawing", times("█", 100)),
        ("one cluster to 40 columns", "x" + times("日", 19) + "👨‍👩‍👧"),
    ])

    private static let long = rows([
        ("64 KiB of letters", times("x", 65_536)), ("64 KiB of words", times("Bob: hi ", 8_192)),
        ("64 KiB of ideographs", times("日", 21_845)),
        ("64 KiB when escaped", times("\u{1B}", 16_384)), ("64 KiB of marks", "a" + times("\u{301}", 32_767)),
        ("64 KiB of zero width", times("\u{200B}", 21_845)),
        ("a word of 200 columns", times("x", 200)), ("two words that just fit", times("x", 39) + " " + times("y", 39)),
        ("a name too long", times("Bob ", 30)),
        ("signs and one letter", times("-", 40) + "a"), ("300 lines", times("Bob: fake\n", 300)),
    ])
}
