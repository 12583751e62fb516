extension Duration {
    /// Milliseconds with one decimal, rounded: "12.3 ms".
    package var millisecondText: String {
        let tenths = Int64((self / .microseconds(100)).rounded())
        let (whole, rest) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
        return "\(tenths < 0 ? "-" : "")\(whole).\(rest) ms"
    }
}
