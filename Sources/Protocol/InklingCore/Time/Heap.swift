/// A binary heap. Only the least element is directly accessible.
package struct Heap<Element: Comparable> {
    @usableFromInline var elements: [Element] = []

    @inlinable package init() {}

    /// The least element; nil if the heap is empty.
    @inlinable package var first: Element? { elements.first }

    @inlinable
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var place = elements.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard element < elements[parent] else { break }
            elements[place] = elements[parent]
            place = parent
        }
        elements[place] = element
    }

    /// Returns a heap of the elements for which `isIncluded` is true.
    @inlinable
    package func filtered(_ isIncluded: (Element) -> Bool) -> Heap {
        var heap = Heap()
        for element in elements where isIncluded(element) { heap.insert(element) }
        return heap
    }

    /// Removes and returns the least element; nil if the heap is empty.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < elements.count else { break }
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard elements[child] < last else { break }
            elements[place] = elements[child]
            place = child
        }
        elements[place] = last
        return first
    }
}

extension Heap: Sendable where Element: Sendable {}
