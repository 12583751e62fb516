import InklingModel

extension NameFault {
    /// The longest name, in bytes of UTF-8 (M-25).
    private static let maximumSize = 64

    /// What is wrong with a name, in NFC, that the user wants to be known by: what no node can have (M-25), and what
    /// others would not be shown. Nil if nothing is.
    public init?(ofOwnName name: String) {
        if let fault = NameFault(of: name, maximumSize: Self.maximumSize) {
            self = fault
        } else if UserIDsInNames.removed(from: name, isKnown: { _ in false }) != nil {
            self = .userID
        } else if Labels.shown(name) == nil {
            self = .unreadable
        } else {
            return nil
        }
    }
}
