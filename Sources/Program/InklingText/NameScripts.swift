import InklingModel

/// The scripts and digits within the words of a name.
enum NameScripts {
    /// Returns whether a word of the name mixes two scripts with similar letters. A foreign digit with the shape of an
    /// ASCII letter or digit counts too. Different words may have different scripts: "Олена Lena".
    static func areMixed(in name: String) -> Bool {
        var scripts: Set<Script> = []
        var hasForeign = false
        for scalar in NormalForm.compatible(name).unicodeScalars {
            guard isInWord(scalar) else {
                (scripts, hasForeign) = ([], false)
                continue
            }
            if let script = Script(of: scalar) {
                scripts.insert(script)
            } else if !scalar.isASCII, Skeleton.shape(of: scalar) != nil {
                hasForeign = true
            }
            if scripts.count > 1 || hasForeign && !scripts.isEmpty { return true }
        }
        return false
    }

    private static func isInWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .format:
            true
        default: false
        }
    }

    /// The scripts whose letters mostly have the same shapes.
    private enum Script {
        case latin, greek, cyrillic, armenian, cherokee, lisu, coptic

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x41...0x5A, 0x61...0x7A, 0xAA, 0xBA, 0xC0...0x24F, 0x250...0x2AF, 0x1D00...0x1D25, 0x1E00...0x1EFF,
                0x2C60...0x2C7F, 0xA722...0xA7FF, 0xAB30...0xAB64, 0xFF21...0xFF3A, 0xFF41...0xFF5A:
                self = .latin
            case 0x370...0x3FF, 0x1D26...0x1D2A, 0x1F00...0x1FFF: self = .greek
            case 0x400...0x52F, 0x1C80...0x1C8F, 0x1D2B, 0x2DE0...0x2DFF, 0xA640...0xA69F: self = .cyrillic
            case 0x530...0x58F: self = .armenian
            case 0x13A0...0x13FF, 0xAB70...0xABBF: self = .cherokee
            case 0xA4D0...0xA4FF, 0x11FB0: self = .lisu
            case 0x2C80...0x2CFF: self = .coptic
            default: return nil
            }
        }
    }
}
