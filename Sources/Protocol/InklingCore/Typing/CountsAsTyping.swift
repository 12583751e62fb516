/// Returns whether the text of an input field counts as typing: the text has a visible character and is not a command.
///
/// - Parameter text: the whole content of the input field.
package func countsAsTyping(_ text: String) -> Bool {
    guard text.unicodeScalars.first != "/" else { return false }
    return text.unicodeScalars.contains(where: isVisible)
}

private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    if properties.isWhitespace || properties.isDefaultIgnorableCodePoint { return false }
    switch properties.generalCategory {
    case .control, .format, .surrogate, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator:
        return false
    default:
        return true
    }
}
