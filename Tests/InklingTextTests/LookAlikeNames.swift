import Foundation
import Testing

/// Names of somebody known, and of strangers: which of these a reader takes for the other, and which are only names.
enum LookAlikeNames {
    struct Pair: CustomTestStringConvertible, Hashable, Sendable {
        let known: String
        let other: String
        var testDescription: String { "\(known) / \(other)" }
    }

    /// - Parameter table: `known: other | other`, a line each.
    private static func pairs(_ table: String) -> [Pair] {
        table.split(separator: "\n").flatMap { row in
            let halves = row.components(separatedBy: ": ")
            return halves[1].components(separatedBy: " | ").map { Pair(known: halves[0], other: $0) }
        }
    }

    static let alike = pairs(
        """
        Bob: Воb | Bоb | Вов | BΟb | ВОВ | ΒΟΒ | Βοb | Boƅ | BoЬ | Bob\u{301}\u{335} | B0b | bob | Ｂｏｂ | 𝐁𝐨𝐛 | 𝔹𝕠𝕓 | 𝓑𝓸𝓫
        Bob: 𝙱𝚘𝚋 | Ⓑⓞⓑ | 🅱ob | ʙᴏʙ | Bo\u{200B}b | Bo\u{200D}b | \u{202E}Bob | Bo\u{2066}b | Bo\u{AD}b | Bo\u{34F}b | Bo\u{E0062}b
        Bob: Bo\u{FE0F}b | Ᏼob | ꓐꓳꓐ | Bသb | Bօb | Bסb | Bهb | B௦b | B०b | B๐b | B០b | Bօb\u{2060} | 𐊂ob | 𐌁ob | 𐔡ob | Bഠb | B𐓂b
        Alice: Аlice | AIice | A1ice | A|ice | Αlice | Alіce | Alicе | Aliсe | Ꭺlice | ᗅlice | Alıce | Aӏice | Aⅼice | Aߊice
        Alice: 𝒜lice | 𝖠𝗅𝗂𝖼𝖾 | AlᎥce | Ali𐐽e | AƖice | ꓮlice | Alicҽ | Al\u{456}\u{441}e | ⒜lice | Aꓲice | Aاice | Aוice
        Ian: lan | Іаn | Ιan | 1an | |an | Ӏan | Ⅰan | Iаn | Iɑn
        Tom: Torn | Tоm | Тom | Ƭom | Tοm | Toⅿ | 𝚃𝚘𝚖 | ᎢOM | T໐m
        William: vvilliam | VVilliam | Ԝilliam | Wiⅼliam | Wil1iam | ѡilliam | Ꮃilliam | ԝilliam
        Paul: Рaul | Раul | Pаuⅼ | Ρaul | Ꮲaul | Paʋl | Paսl | PauI | ⲢaulI\u{200B} | ρaul
        Zoe: Ζoe | Ꮓoe | Zое | Z0e | Zơ\u{335}e | ＺＯＥ
        Sophie: Ѕophie | Sорhie | Ꮪophie | Sophiе | 5ophie | Տophie | Sοphie | Ꮥophie | Sophıe | Soрhіe
        Ivan: Іvan | lvan | Ivаn | Iᴠan | Iѵan | Iνan | I\u{2228}an
        Max: Мax | Маx | Maх | Ꮇax | Ϻax | Ma\u{D7} | Maⅹ | Rnax | rnax
        Жанна: Жaннa | Жahha
        Νίκος: Νίκoς | Nίκος
        Müller: Mü11er | Mu\u{308}ller | Müⅼler | ΜüIler
        Jörg VIII: Jörg Ⅷ | Jоrg VIII
        """)

    /// Neither needs a suffix, beside the other or alone.
    static let honest = pairs(
        """
        Ian: Lan | Iain | Ina | Jan | Alan | Ivan | Иван
        Олена Lena: Ольга Lena | Анна Anna | Lea
        Dana דנה: נועה Noa | דוד | Dan | יוסי
        Bob: Rob | Bób | Böb | Bod | Bobby | Bo | 8ob | Dob
        Tom: Tim | Thom | Timo | Tomas | Tam
        Kai: Kal | Kay | Cai
        Eli: Ell | Elly | Ali | Ella
        José: Jose | Josefa | Joseph
        Zoë: Zoe | Zöe | Zora
        Müller: Muller | Mueller | Möller
        Clara: Carla | Klara | Claire
        Anna: Ann | Hanna | Ana
        Жанна: Анна | Иоанна | Яна
        Νίκος: Νίκη | Μαρία
        日本太郎: 日本次郎 | 山田花子 | 木村
        ローラ: サラ | ルイ
        김철수: 김철호 | 이영희
        علي: محمد | فاطمة | عمر
        राम: श्याम | सीता
        สมชาย: สมหญิง | สุดา
        Աննա: Արամ | Նարե
        ქეთი: ნინო | გიორგი
        O'Neill: O'Nell | O’Brien
        Łukasz: Lucas | Łucja
        Søren: Sara | Sofie
        İpek: Irmak | İdil
        R2-D2: C3-PO | BB-8
        Maria Мария: Марк Mark | Marta-Марта
        علي ٢: علي ٣ | عمر ١٢
        राम २: राम ३
        """)
}
