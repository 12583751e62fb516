// The connection to the page server: the ticket, the mutual proof, close codes, and reconnection.
// No line and no draft passes before both sides have proved that they know the key.

const AGAIN = "Open Inkling again, by its icon or with: inkling web";
/** By close code: the words, and how many milliseconds later the page connects again. 0 is a wrong proof. */
const CLOSES = {
	0: [`Another program answers at this address. The page sent it nothing. ${AGAIN}`],
	1001: ["Inkling's page server ended. Your draft stays here, and the page tries again.", 2000],
	1006: ["Inkling's page server does not answer. Your draft stays here, and the page tries again.", 2000],
	4000: ["The page server did not accept this page."],
	4001: [`This page is from an earlier run of Inkling. ${AGAIN}`],
	4002: [`This address was used before, or is older than a minute. ${AGAIN}`],
	4003: ["Eight pages are open already. Close another tab."],
	4004: ["This page was too slow. It connects again.", 1000],
	4005: ["A line was too long. The page connects again.", 1000],
};
const WITH_BUTTON = [0, 4000, 4003];
const HMAC = { name: "HMAC", hash: "SHA-256" };

const bytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt());
const encode = (data) => btoa(String.fromCharCode(...new Uint8Array(data)))
	.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
const decode = (text) => bytes(atob(text.replace(/-/g, "+").replace(/_/g, "/")));
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

export class Connection {
	#socket;
	#isProved = false;
	#timer;
	#key;
	#onLine;
	#onState;

	/** `onState` gets whether lines pass, and otherwise the words for the user and whether a button helps. */
	constructor(onLine, onState) {
		this.#onLine = onLine;
		this.#onState = onState;
		const [, ticket] = /^#ticket=([\w-]{43})$/.exec(location.hash) ?? [];
		if (location.hash) history.replaceState(history.state, "", "/");
		const session = sessionStorage.getItem("inkling");
		if (ticket || session) this.#key = { kind: ticket ? "ticket" : "session", bytes: decode(ticket ?? session) };
	}

	open() {
		this.close();
		if (!this.#key) return this.#onState(false, `This page needs a fresh address. ${AGAIN}`);
		const socket = this.#socket = new WebSocket(`ws://${location.host}/socket`);
		const end = (code) => {
			if (socket !== this.#socket) return;
			this.close();
			const [text, wait] = CLOSES[code] ?? CLOSES[1006];
			this.#onState(false, text, WITH_BUTTON.includes(code));
			if (wait) this.#timer = setTimeout(() => this.open(), wait);
		};
		socket.onclose = ({ code }) => end(code);
		this.#timer = setTimeout(end, 5000, 1006);
		this.#prove(socket).catch(() => end(0));
	}

	close() {
		clearTimeout(this.#timer);
		const socket = this.#socket;
		this.#socket = null;
		this.#isProved = false;
		socket?.close();
	}

	/** Sends a request, and returns whether a proved connection took it. */
	send(request) {
		const isOpen = this.#isProved && this.#socket.readyState === 1;
		if (isOpen) this.#socket.send(JSON.stringify(request));
		return isOpen;
	}

	/** Proves both sides, the server first. Throws if the server does not know the key. */
	async #prove(socket) {
		const { subtle } = crypto;
		const { kind, bytes: key } = this.#key;
		const digest = new Uint8Array(await subtle.digest("SHA-256", join(bytes("inkling web id"), key)));
		const id = [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
		const hmac = await subtle.importKey("raw", key, HMAC, false, ["sign", "verify"]);
		const own = crypto.getRandomValues(new Uint8Array(32));
		const next = () => new Promise((resolve) => { socket.onmessage = ({ data }) => resolve(JSON.parse(data)); });
		if (!socket.readyState) await new Promise((resolve) => { socket.onopen = resolve; });
		socket.send(JSON.stringify({ web: 1, key: kind, id, nonce: encode(own) }));
		const { nonce, proof } = await next();
		const theirs = decode(nonce);
		const claim = join(bytes("inkling web server\0"), own, theirs);
		if (theirs.length !== 32 || !await subtle.verify("HMAC", hmac, decode(proof), claim)) throw Error("wrong proof");
		const signed = await subtle.sign("HMAC", hmac, join(bytes("inkling web page\0"), theirs, own));
		const last = next();
		socket.send(JSON.stringify({ proof: encode(signed) }));
		const { session } = await last;
		if (socket !== this.#socket) return;
		clearTimeout(this.#timer);
		socket.onmessage = ({ data }) => this.#onLine(data);
		this.#isProved = true;
		if (session) {
			this.#key = { kind: "session", bytes: decode(session) };
			sessionStorage.setItem("inkling", session);
		}
		this.#onState(true);
	}
}
