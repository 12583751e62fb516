// The connection: proof, close codes, reconnection, and requests with their answers.

import {hooks} from "./hooks.js";

const AGAIN = "Open Inkling again: inkling web";
const OLD = [`This page needs a fresh address. ${AGAIN}`, 0];
/** By close code: words, and ms to the next try. Without these, a button tries. */
const CLOSES = {
	0: [`Another program answers at this address. ${AGAIN}`],
	1001: [`Inkling's page server ended. ${AGAIN}`, 0],
	1006: ["Inkling's page server does not answer.", 2000],
	4000: OLD,
	4001: OLD,
	4002: OLD,
	4003: ["Eight pages are open. Close another tab."],
	4004: ["This page was too slow.", 2000],
};

const base64 = {alphabet: "base64url", omitPadding: true};
const decode = (text) => Uint8Array.fromBase64(text, base64);
const encode = (data) => new Uint8Array(data).toBase64(base64);
const join = (label, ...parts) => Uint8Array.of(...new TextEncoder().encode(label), ...parts.flatMap((part) => [...part]));

const waiting = new Map();
let socket, isProved, timer, id = 0, kind = "session", key = sessionStorage.getItem("inkling");

onhashchange = onpageshow = open;
onpagehide = close;

export function open() {
	const ticket = /^#ticket=([\w-]{43})$/.exec(location.hash)?.[1];
	if (ticket) [key, kind] = [ticket, "ticket"];
	if (location.hash) history.replaceState(history.state, "", "/");
	close();
	if (!key) return hooks.connected(false, ...OLD);
	const opened = socket = new WebSocket(`ws://${location.host}/socket`);
	const end = (code) => {
		if (opened !== socket) return;
		close();
		const [text, wait] = CLOSES[code] ?? CLOSES[1006];
		hooks.connected(false, wait ? `${text} The page tries again.` : text, wait === undefined);
		if (wait) timer = setTimeout(open, wait);
	};
	socket.onclose = ({code}) => end(code);
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
	const {subtle} = crypto, secret = decode(key);
	const digest = await subtle.digest("SHA-256", join("inkling web id", secret));
	const hmac = await subtle.importKey("raw", secret, {name: "HMAC", hash: "SHA-256"}, false, ["sign", "verify"]);
	const own = crypto.getRandomValues(new Uint8Array(32));
	const put = (step) => opened.send(JSON.stringify(step));
	const next = () => new Promise((done) => { opened.onmessage = ({data}) => done(JSON.parse(data)); });
	if (!opened.readyState) await new Promise((done) => { opened.onopen = done; });
	put({web: 1, key: kind, id: new Uint8Array(digest, 0, 8).toHex(), nonce: encode(own)});
	const {nonce, proof} = await next();
	const theirs = decode(nonce), claim = join("inkling web server\0", own, theirs);
	if (theirs.length !== 32 || !await subtle.verify("HMAC", hmac, decode(proof), claim)) throw 0;
	put({proof: encode(await subtle.sign("HMAC", hmac, join("inkling web page\0", theirs, own)))});
	const {session} = await next();
	if (opened !== socket) return;
	clearTimeout(timer);
	isProved = true;
	socket.onmessage = ({data}) => receive(JSON.parse(data));
	if (session) {
		[key, kind] = [session, "session"];
		sessionStorage.setItem("inkling", key);
	}
	hooks.connected(true);
}

function receive(line) {
	const {request, done} = waiting.get(line.id) ?? {};
	waiting.delete(line.id);
	const answer = hooks.received(line, request);
	done?.(answer);
}

/** Ends all requests. */
export function abandon() {
	for (const {done} of waiting.values()) done({error: "The connection ended."});
	waiting.clear();
}

export function tell(request) {
	if (isProved) socket.send(JSON.stringify(request));
	return isProved;
}

export function ask(request, own) {
	if (!tell({...request, id: ++id})) return {error: "Not connected."};
	return new Promise((done) => waiting.set(id, {request: {...request, ...own}, done}));
}
