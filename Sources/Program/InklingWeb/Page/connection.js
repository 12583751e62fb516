/**
 * The connection to the page server: the ticket, the mutual proof, close codes, and reconnection.
 *
 * No line of the daemon and no draft passes before both sides have proved that they know the key.
 */

const STORED = "inkling";
const FRESH = "Open Inkling again: use its desktop entry, or run inkling web.";
const KEY = /^[\w-]{43}$/;
/** The time for the server's side of the handshake, in milliseconds. */
const PATIENCE = 5_000;

/** What the page says for a close code. It connects again after `again` milliseconds, or on a press if `button`. */
const CLOSES = {
  1001: { text: "Inkling’s page server ended. Your draft stays here. This page tries again.", again: 2_000 },
  1006: { text: "Inkling’s page server does not answer. Your draft stays here. This page tries again.", again: 2_000 },
  4000: { text: "The page server did not accept this page.", button: "Try again" },
  4001: { text: `This page belongs to an earlier run of Inkling. ${FRESH}` },
  4002: { text: `This address was used before, or is older than a minute. ${FRESH}` },
  4003: { text: "Eight pages are open, and Inkling takes no more. Close another tab.", button: "Try again" },
  4004: { text: "This page was too slow. It connects again.", again: 1_000 },
  4005: { text: "A line was too long. This page connects again.", again: 1_000 },
};
const FOREIGN = {
  text: "Another program answers at this address, and does not know this page’s key. The page sent it nothing. "
    + `Your draft stays here. ${FRESH}`,
  button: "Try again",
};
const KEYLESS = { text: `This page needs a fresh address. ${FRESH}` };

const utf8 = (text) => new TextEncoder().encode(text);
const toText = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

function join(...parts) {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Takes the ticket out of the address, so that no history and no copy of the address keeps it. */
function takeTicket() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (location.hash) history.replaceState(null, "", "/");
  return ticket;
}

export class Connection {
  #socket = null;
  /** Whether both sides of the present socket have proved themselves. */
  #isProved = false;
  #key = null;
  #timer = 0;
  #onLine;
  #onState;

  /**
   * @param onLine is called with each line of the daemon.
   * @param onState is called with `{ up, text, button }`: whether lines pass, and the words and button of the banner.
   */
  constructor(onLine, onState) {
    this.#onLine = onLine;
    this.#onState = onState;
    const ticket = takeTicket();
    const session = sessionStorage.getItem(STORED);
    if (KEY.test(ticket)) this.#key = { kind: "ticket", text: ticket };
    else if (KEY.test(session)) this.#key = { kind: "session", text: session };
  }

  /** Connects, or connects again. */
  open() {
    clearTimeout(this.#timer);
    this.close();
    if (!this.#key) return this.#onState({ up: false, ...KEYLESS });
    const socket = new WebSocket(`ws://${location.host}/socket`);
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#end(CLOSES[1006]), PATIENCE);
    const handshake = new Handshake(this.#key, (text) => socket.send(text));
    socket.onopen = () => handshake.begin();
    socket.onmessage = async ({ data }) => {
      if (this.#socket !== socket) return;
      if (this.#isProved) return this.#onLine(data);
      // The server sends `ready` right behind its last step, which is therefore read without an await.
      const accepted = handshake.accept(data);
      if (accepted) {
        this.#isProved = true;
        clearTimeout(this.#timer);
        if (accepted.session) this.#keep(accepted.session);
        return this.#onState({ up: true });
      }
      const isRight = await handshake.check(data);
      if (!isRight && this.#socket === socket) this.#end(FOREIGN);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#end(CLOSES[code] ?? CLOSES[1006]);
    };
  }

  /** Sends a request; returns whether a proved connection took it. */
  send(request) {
    if (!this.#isProved || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(request));
    return true;
  }

  /** Closes without a word in the banner. */
  close() {
    const socket = this.#socket;
    this.#socket = null;
    this.#isProved = false;
    socket?.close();
  }

  #keep(session) {
    this.#key = { kind: "session", text: session };
    sessionStorage.setItem(STORED, session);
  }

  #end(reason) {
    clearTimeout(this.#timer);
    this.close();
    this.#onState({ up: false, text: reason.text, button: reason.button });
    if (reason.again) this.#timer = setTimeout(() => this.open(), reason.again);
  }
}

/** One run of the proof. The server proves first. */
class Handshake {
  #key;
  #send;
  #nonce = crypto.getRandomValues(new Uint8Array(32));
  /** The next message of the server: its `proof`, the `end`, or none that the page would take. */
  #awaited = "proof";

  constructor(key, send) {
    this.#key = key;
    this.#send = send;
  }

  async begin() {
    const bytes = toBytes(this.#key.text);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", join(utf8("inkling web id"), bytes)));
    const id = Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#send(JSON.stringify({ web: 1, key: this.#key.kind, id, nonce: toText(this.#nonce) }));
  }

  /** Checks the server's proof and answers with the page's own. Returns whether the proof is right. */
  async check(data) {
    if (this.#awaited !== "proof") return false;
    this.#awaited = "nothing";
    try {
      const { web, nonce, proof } = JSON.parse(data);
      const server = toBytes(nonce);
      if (web !== 1 || server.length !== 32) return false;
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey("raw", toBytes(this.#key.text), hmac, false, ["sign", "verify"]);
      const claim = join(utf8("inkling web server\0"), this.#nonce, server);
      if (!await crypto.subtle.verify("HMAC", key, toBytes(proof), claim)) return false;
      const own = await crypto.subtle.sign("HMAC", key, join(utf8("inkling web page\0"), server, this.#nonce));
      this.#awaited = "end";
      this.#send(JSON.stringify({ proof: toText(new Uint8Array(own)) }));
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the server's last step, or null if this is not it. */
  accept(data) {
    if (this.#awaited !== "end") return null;
    try {
      const step = JSON.parse(data);
      return step.web === 1 ? step : null;
    } catch {
      return null;
    }
  }
}
