import InklingConsole
import InklingModel

/// The common interface of the models of a chat.
protocol StagedModel {
    var nextTick: Int64? { get }
    mutating func receive(_ output: ServiceOutput, at moment: Moment) -> [ChatEffect]
    mutating func receive(line: String, at moment: Moment) -> [ChatEffect]
    mutating func tick(at moment: Moment) -> [ChatEffect]
    mutating func finish(at moment: Moment) -> [ChatEffect]
}

extension ChatModel: StagedModel {}
extension PipeModel: StagedModel {}

/// A model with a node that answers, a clock, and others who come and go.
protocol ModelStage {
    associatedtype Model: StagedModel
    var model: Model { get set }
    var node: StageNode { get set }
    /// The time in milliseconds.
    var now: Int64 { get set }
    mutating func perform(_ effects: [ChatEffect])
}

extension ModelStage {
    var moment: Moment { Moment(steady: now, wall: ChatStage.noon - .milliseconds(-now)) }

    mutating func line(_ text: String) { perform(model.receive(line: text, at: moment)) }
    mutating func finish() { perform(model.finish(at: moment)) }

    mutating func receive(_ event: Event) {
        perform(model.receive(.event(TimedEvent(at: moment.wall, event: event)), at: moment))
    }

    /// Lets time pass, with a tick at each time that the model asks for.
    mutating func advance(by milliseconds: Int64) {
        let end = now + milliseconds
        while let next = model.nextTick, next <= end {
            now = max(next, now)
            perform(model.tick(at: moment))
            if let again = model.nextTick, again <= now { preconditionFailure("it wants to be called again at once") }
        }
        now = end
    }

    mutating func come(
        _ person: StagePerson, _ presence: Presence = .online, why: PresenceReason? = nil, in chat: String = "kitchen"
    ) {
        let peer = person.peer(presence, lastSeen: presence == .offline ? moment.wall : nil)
        node.people[person.user] = presence == .offline ? nil : person
        node.gone[person.user] = presence == .offline ? peer : nil
        receive(.peer(.init(chat: chat, peer, why: why ?? (presence == .offline ? .bye : .hello))))
    }

    mutating func fail(_ message: MessageID, to person: StagePerson, in chat: String = "kitchen") {
        receive(.failed(.init(chat: chat, message: message, user: person.user, why: .silence)))
    }

    mutating func deliver(_ message: MessageID? = nil, to person: StagePerson, in chat: String = "kitchen") {
        receive(.delivered(.init(chat: chat, message: message ?? node.sent, user: person.user)))
    }
}
