import Glibc
import InklingConformance

/// The DNS-SD daemon, for the cases on discovery.
final class ServiceBench {
    var descriptors: [pollfd] { [] }

    func advertise(_ service: AdvertisedService) throws(StageError) { throw StageError("not there yet") }

    func browse(subtype: String) throws(StageError) { throw StageError("not there yet") }

    func collect(at: Duration) -> [StageEvent] { [] }

    func end() {}
}
