import InklingModel
import Synchronization

/// A handle on a chat that a node is in, for programs that show or use one chat. ``Node/join(_:)-(String)`` returns it.
///
/// ```swift
/// let chat = try await node.join("kitchen")
/// await chat.compose("Is the kettle o")
/// try await chat.send("Is the kettle on?")
/// ```
///
/// A handle is a value: copies mean the same chat, and any task may use them. The handle keeps its ``node``, but
/// dropping the last copy leaves no chat. When the node leaves the chat, every handle on the chat ends for good. A
/// later ``Node/join(_:)-(String)`` of the same chat returns a new handle, and the old one does nothing there.
public struct ChatHandle: Sendable {
    /// The chat, with the name under which the node joined it. If the chat moves, the handle is valid for the new chat
    /// too, which ``Notice/moved(_:)`` reports.
    public let chat: Chat
    /// The node that is in the chat.
    public let node: Node
    let membership: Membership

    /// The chat's name in NFC, 1 to 64 bytes of UTF-8.
    public var name: String { chat.name }

    // MARK: Writing

    /// Sets the whole text of the input field, as ``Node/compose(_:in:)`` does. Call it on every change.
    ///
    /// The text never leaves the node, which announces only that the user types (T-1 to T-10).
    ///
    /// The call runs on the caller's thread if the node is idle, and then returns without a change of thread.
    ///
    /// - Parameter text: The whole field, of any length; empty when the user cleared it. After ``leave()`` nothing
    ///   happens.
    public nonisolated(nonsending) func compose(_ text: String) async {
        guard node.atOnce({ $0.composeAlone(text, with: self) }) == nil else { return }
        await node.compose(text, with: self)
    }

    /// Sends a message to all people who are online or away in the chat, as ``Node/send(_:to:)`` does. The message ends
    /// the user's typing (T-10). The call runs where ``compose(_:)`` does.
    ///
    /// - Parameter text: 1 to 65,536 bytes of UTF-8.
    /// - Returns: The message's number in ``Event/delivered(_:)`` and ``Event/failed(_:)``, and the number of its
    ///   recipients. Nobody else gets the message later.
    /// - Throws: ``NodeError/unknownChat(_:)`` after ``leave()``, ``NodeError/messageEmpty``,
    ///   ``NodeError/messageTooLong(bytes:)``, ``NodeError/queueFull(_:)`` or ``NodeError/stopped``. Nothing is sent
    ///   then.
    @discardableResult
    public nonisolated(nonsending) func send(
        _ text: String
    ) async throws(NodeError) -> (message: MessageID, recipients: Int) {
        if let sent = node.atOnce({ $0.sendAlone(text, with: self) }) { return try sent.get() }
        return try await node.send(text, with: self)
    }

    /// Leaves the chat, as ``Node/leave(_:)`` does: the others get a farewell, and all sequences of the chat end.
    ///
    /// - Throws: ``NodeError/unknownChat(_:)`` if the node has left the chat already, ``NodeError/stopped``.
    public func leave() async throws(NodeError) { try await node.leave(self) }

    // MARK: Reading

    /// The people who are typing, in the order in which to name them, the latest start first (T-20).
    ///
    /// Each call begins a new stream. The stream begins with the present list, then brings each change, at most 20 a
    /// second. A reader that is slower than the changes gets the latest list only. The stream ends when the node leaves
    /// the chat or is stopped. After that, new streams are empty.
    public var typing: AsyncStream<[InklingModel.Person]> {
        let (stream, continuation) = AsyncStream<[InklingModel.Person]>.makeStream(bufferingPolicy: .bufferingNewest(1))
        node.eventLoop.execute { node.onLoop { $0.observeTyping(in: $0.joinedChat(self), continuation) } }
        return stream
    }

    /// Calls `body` with the people who are typing: first the present list, then each change, as ``typing`` has them.
    ///
    /// The calls come on the node's thread, one after the other. They come sooner than the elements of ``typing``, which
    /// another thread takes. Meanwhile the node does nothing else, so return soon, and wait for nothing. The calls end
    /// when the node leaves the chat or is stopped, or with ``TypingObservation/cancel()``.
    @discardableResult
    public func onTyping(_ body: @escaping @Sendable ([InklingModel.Person]) -> Void) -> TypingObservation {
        let observation = TypingObservation(body)
        node.eventLoop.execute { node.onLoop { $0.observeTyping(in: $0.joinedChat(self), observation) } }
        return observation
    }

    /// The events of this chat: presence, typing, messages, and the outcomes of this node's messages.
    ///
    /// Each call begins a new sequence. If events came while nobody read them, ``Event/missed(_:)`` comes first. The
    /// present state follows: an ``Event/peer(_:)`` for everybody who is there, and an ``Event/typing(chat:_:)`` if
    /// somebody types. Every later event of the chat follows, also those of calls made after this one. The sequence
    /// ends when the node leaves the chat, is stopped, or ends the sequence with ``Node/stopObserving()``. A reader can
    /// still take the events that wait then. Notices concern the whole node: only ``Node/events()`` has them.
    ///
    /// Read it steadily. A message of the chat counts as taken when each of its readers has it (M-20). The memory for a
    /// slow reader is bounded, as ``NodeEvents`` describes.
    public var events: NodeEvents { node.events(of: self) }
}

/// The calls of ``ChatHandle/onTyping(_:)``. They come until ``cancel()``, also if nothing refers to this object.
public final class TypingObservation: Sendable {
    private let body: @Sendable ([InklingModel.Person]) -> Void
    private let isOver = Atomic(false)

    fileprivate init(_ body: @escaping @Sendable ([InklingModel.Person]) -> Void) { self.body = body }

    /// Ends the calls. None begins after this returns.
    public func cancel() { isOver.store(true, ordering: .releasing) }

    /// Whether the calls have ended.
    var isCancelled: Bool { isOver.load(ordering: .acquiring) }

    func call(_ people: [InklingModel.Person]) {
        if !isCancelled { body(people) }
    }
}

extension Node {
    /// Composes without the event loop; nil if that takes other parts of the program.
    fileprivate func composeAlone(_ text: String, with handle: ChatHandle) -> Void? {
        sink == nil ? compose(text, with: handle) : nil
    }

    /// Sends without the event loop; nil if that takes other parts of the program.
    fileprivate func sendAlone(
        _ text: String, with handle: ChatHandle
    ) -> Result<(message: MessageID, recipients: Int), NodeError>? {
        guard sink == nil, joinedChat(handle)?.texts == nil else { return nil }
        return Result { () throws(NodeError) in try send(text, with: handle) }
    }

    fileprivate func compose(_ text: String, with handle: ChatHandle) {
        guard joinedChat(handle) != nil else { return }
        compose(text, in: handle.name)
    }

    fileprivate func send(
        _ text: String, with handle: ChatHandle
    ) throws(NodeError) -> (message: MessageID, recipients: Int) {
        try requireMember(handle)
        return try send(text, to: handle.name)
    }

    fileprivate func leave(_ handle: ChatHandle) throws(NodeError) {
        try requireMember(handle)
        try leave(handle.name)
    }

    private func requireMember(_ handle: ChatHandle) throws(NodeError) {
        guard !isStopped else { throw .stopped }
        guard joinedChat(handle) != nil else { throw .unknownChat(handle.name) }
    }
}
