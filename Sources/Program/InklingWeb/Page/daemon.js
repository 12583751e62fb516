/** Requests to the daemon, and its lines into the model: at most a few milliseconds of them in a frame. */

/** The time for lines in one turn, in milliseconds; the rest waits for the next frame. */
const BUDGET = 8;

export class Daemon {
  #connection;
  #model;
  #onLine;
  #pending = new Map();
  #id = 0;
  #queue = [];
  #head = 0;
  #isWaiting = false;

  /** @param onLine is called after the model applied a line. */
  constructor(model, onLine) {
    this.#model = model;
    this.#onLine = onLine;
  }

  set connection(connection) {
    this.#connection = connection;
  }

  /** Sends a request and returns its answer, which can be an `error`. `own` members stay in the page. */
  request(request, own = {}) {
    return new Promise((resolve) => {
      const id = ++this.#id;
      this.#pending.set(id, { request: { ...request, ...own }, resolve });
      if (!this.#connection.send({ ...request, id })) this.#answer({ on: "error", code: "lost", text: "Not connected.", id });
    });
  }

  /** Sends a request whose answer has no use. */
  tell(request) {
    this.#connection.send(request);
  }

  receive(text) {
    this.#queue.push(text);
    if (!this.#isWaiting) this.#drain();
  }

  /** Ends all requests without an answer. */
  disconnect() {
    this.#queue.length = this.#head = 0;
    this.#abandon();
    this.#model.disconnect();
  }

  #drain() {
    const end = performance.now() + BUDGET;
    this.#isWaiting = false;
    while (this.#head < this.#queue.length) {
      if (performance.now() > end) {
        this.#isWaiting = true;
        // A hidden tab has no frames.
        if (document.hidden) setTimeout(() => this.#drain(), 20);
        else requestAnimationFrame(() => this.#drain());
        return;
      }
      const text = this.#queue[this.#head++];
      let line;
      try {
        line = JSON.parse(text);
      } catch {
        continue;
      }
      if (line && typeof line === "object") this.#answer(line);
    }
    this.#queue.length = this.#head = 0;
  }

  #answer(line) {
    const waiting = line.id === undefined ? undefined : this.#pending.get(line.id);
    this.#pending.delete(line.id);
    if (line.on === "ready" || line.state === "lost") this.#abandon();
    this.#model.apply(line, waiting?.request);
    this.#onLine(line, waiting?.request);
    waiting?.resolve(line);
  }

  #abandon() {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { resolve } of pending) resolve({ on: "error", code: "lost", text: "The connection ended before an answer." });
  }
}
