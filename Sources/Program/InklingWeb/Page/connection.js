// The connection: proof, close codes, reconnection, and requests with their answers.
// No line passes before both sides have proved the key.

const AGAIN = "Open Inkling again, by its icon or with: inkling web";
const STAYS = "Your draft stays here. The page tries again.";
/** By close code: the words, and the wait for the next try in ms. Without it, a button tries. */
const CLOSES = {
	0: [`Another program answers at this address. The page sent it nothing. ${AGAIN}`],
	1001: [`Inkling's page server ended. ${STAYS}`, 2000],
	1006: [`Inkling's page server does not answer. ${STAYS}`, 2000],
	4000: ["The page server did not accept this page."],
	4001: [`This page is from an earlier run of Inkling. ${AGAIN}`, 0],
	4002: [`This address was used before, or is older than a minute. ${AGAIN}`, 0],
	4003: ["Eight pages are open. Close another tab."],
	4004: [`This page was too slow. ${STAYS}`, 1000],
	4005: [`A line was too long. ${STAYS}`, 1000],
};

const bytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt());
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const decode = (text) => bytes(atob(text.replace(/-/g, "+").replace(/_/g, "/")));
const encode = (data) =>
	btoa(String.fromCharCode(...new Uint8Array(data))).replace(/\+/g, "-").replace(/\//g, "_").replace("=", "");

export function connect(onLine, onState) {
	const waiting = new Map();
	let socket, isProved, timer, id = 0, kind = "session", key = sessionStorage.getItem("inkling");

	function take() {
		const ticket = /^#ticket=([\w-]{43})$/.exec(location.hash)?.[1];
		if (ticket) [key, kind] = [ticket, "ticket"];
		if (location.hash) history.replaceState(history.state, "", "/");
	}
	take();
	onhashchange = () => open(take());

	function open() {
		close();
		if (!key) return onState(false, `This page needs a fresh address. ${AGAIN}`);
		const opened = socket = new WebSocket(`ws://${location.host}/socket`);
		const end = (code) => {
			if (opened !== socket) return;
			close();
			const [text, wait] = CLOSES[code] ?? CLOSES[1006];
			onState(false, text, wait === undefined);
			if (wait) timer = setTimeout(open, wait);
		};
		socket.onclose = ({ code }) => end(code);
		timer = setTimeout(end, 5000, 1006);
		prove(opened).catch(() => end(0));
	}

	function close() {
		clearTimeout(timer);
		const closed = socket;
		socket = isProved = null;
		closed?.close();
		abandon();
	}

	async function prove(opened) {
		const { subtle } = crypto, secret = decode(key);
		const digest = new Uint8Array(await subtle.digest("SHA-256", join(bytes("inkling web id"), secret)), 0, 8);
		const name = [...digest].map((byte) => byte.toString(16).padStart(2, 0)).join("");
		const hmac = await subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
		const own = crypto.getRandomValues(new Uint8Array(32));
		const put = (step) => opened.send(JSON.stringify(step));
		const next = () => new Promise((done) => { opened.onmessage = ({ data }) => done(JSON.parse(data)); });
		if (!opened.readyState) await new Promise((done) => { opened.onopen = done; });
		put({ web: 1, key: kind, id: name, nonce: encode(own) });
		const { nonce, proof } = await next();
		const theirs = decode(nonce);
		const claim = join(bytes("inkling web server\0"), own, theirs);
		if (theirs.length !== 32 || !await subtle.verify("HMAC", hmac, decode(proof), claim)) throw 0;
		put({ proof: encode(await subtle.sign("HMAC", hmac, join(bytes("inkling web page\0"), theirs, own))) });
		const { session } = await next();
		if (opened !== socket) return;
		clearTimeout(timer);
		isProved = true;
		socket.onmessage = ({ data }) => receive(JSON.parse(data));
		if (session) {
			[key, kind] = [session, "session"];
			sessionStorage.setItem("inkling", key);
		}
		onState(true);
	}

	function receive(line) {
		const { request, done } = waiting.get(line.id) ?? {};
		if (line.on === "ready") abandon();
		waiting.delete(line.id);
		onLine(line, request);
		done?.(line);
	}

	function abandon() {
		for (const { done } of waiting.values()) done({ on: "error", text: "The connection ended." });
		waiting.clear();
	}

	function tell(request) {
		if (isProved) socket.send(JSON.stringify(request));
		return isProved;
	}

	function ask(name, members, own) {
		const request = { do: name, ...members, id: ++id };
		if (!tell(request)) return { on: "error", text: "Not connected." };
		return new Promise((done) => waiting.set(id, { request: { ...request, ...own }, done }));
	}

	return { open, close, tell, ask };
}
