import ArgumentParser
import Glibc
import InklingCLI

@main
enum Program {
    static func main() {
        ProcessMemory.protect()
        // The compatibility library prints a warning of many lines otherwise. Set before any thread exists.
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        holdStandardStreams()
        // A reader that went away is an error of write(2) here, not a reason to die.
        signal(SIGPIPE, SIG_IGN)
        InklingCommand.runAndExit()
    }

    /// Takes the places of standard streams that are closed, before a socket gets one and what is written goes there.
    /// Reading finds the end, and writing is the error that it was.
    private static func holdStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
