import Glibc

/// Writes past the pipeline of a channel, which takes 9,000 instructions a line. The channel gets only the bytes for
/// which the reader has no room yet.
package enum DirectWrite {
    package enum Outcome: Equatable {
        /// The number of bytes written, perhaps not all.
        case wrote(Int)
        /// The system's code of the error.
        case failed(CInt)
    }

    /// Writes as many bytes as a descriptor takes without a wait.
    ///
    /// - Parameter descriptor: The descriptor of a channel in which no bytes wait.
    package static func write(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> Outcome {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return .wrote(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wrote(0)
            case let code: return .failed(code)
            }
        }
    }
}
