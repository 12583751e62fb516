// Requests to the daemon with their answers, and the daemon's lines for the model, a few milliseconds in a frame.

const BUDGET = 8;

export class Daemon {
	#waiting = new Map();
	#id = 0;
	#queue = [];
	#isLate = false;

	/** `onLine` is called after the model applied a line. */
	constructor(model, onLine) {
		Object.assign(this, { model, onLine });
	}

	/** Returns the promise of an answer, also if that is an error. The members of `own` stay in the page. */
	request(request, own) {
		return new Promise((resolve) => {
			const id = ++this.#id;
			this.#waiting.set(id, { request: { ...request, ...own }, resolve });
			if (!this.connection.send({ ...request, id })) this.#take({ on: "error", text: "Not connected.", id });
		});
	}

	receive(text) {
		this.#queue.push(text);
		if (!this.#isLate) this.#drain();
	}

	/** Ends all requests that have no answer. */
	disconnect() {
		this.#queue = [];
		this.model.disconnect();
		const waiting = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const { resolve } of waiting) resolve({ on: "error", text: "The connection ended before an answer." });
	}

	#drain() {
		const end = performance.now() + BUDGET;
		const queue = this.#queue;
		let count = 0;
		while (count < queue.length && performance.now() < end) {
			try {
				this.#take(JSON.parse(queue[count++]));
			} catch (error) {
				console.error(error);
			}
			if (queue !== this.#queue) return;
		}
		queue.splice(0, count);
		this.#isLate = queue.length > 0;
		// A hidden tab has no frames.
		if (this.#isLate) (document.hidden ? setTimeout : requestAnimationFrame)(() => this.#drain());
	}

	#take(line) {
		if (line.on === "ready" || line.state === "lost") this.disconnect();
		const { request, resolve } = this.#waiting.get(line.id) ?? {};
		this.#waiting.delete(line.id);
		this.model.apply(line, request);
		this.onLine(line, request);
		resolve?.(line);
	}
}
