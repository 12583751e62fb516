import InklingWire

extension NormalForm {
    /// Returns a display name in NFC.
    ///
    /// - Throws: ``NodeError/name(_:)``.
    package static func displayName(_ name: String) throws(NodeError) -> String {
        let normal = Blanks.trimmed(canonical(name))
        if let fault = NameFault(of: normal, maximumSize: Limits.maximumDisplayNameSize) { throw .name(fault) }
        return normal
    }
}
