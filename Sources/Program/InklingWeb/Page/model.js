// The state of the page: chats, people and messages. The model has no clock, no document and no connection.

import { label } from "./text.js";

/** The most messages that the page holds of a chat; beyond it, the oldest 500 go. */
const MOST = 10000;
const LETTER = "[\\p{L}\\p{N}]";
const RANKS = ["online", "away", "offline"];

/** Returns the pattern that finds a text in either case. */
export const pattern = (text, around = (text) => text) =>
	RegExp(around(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")), "giu");

const outcomes = ({ to, delivered = [], failed = [] }) =>
	({ to, delivered: new Set(delivered), failed: new Map(failed.map(({ user, why }) => [user, why])) });

export class Model {
	chats = new Map();
	self = { user: "", name: "" };
	/** The name of the chat in the page, and the same while the page is in sight. */
	current = null;
	shown = null;
	isReady = false;
	/** The bridge's line about the lost daemon. */
	lost = null;
	notices = new Map();
	blocked = [];
	/** How many messages of each muted person were left out. */
	muted = new Map();
	/** The daemon's start: numbers of messages begin again with it. */
	#since = 0;
	#locals = 0;

	get open() {
		return this.chats.get(this.current);
	}

	get unread() {
		return [...this.chats.values()].reduce((sum, { unread }) => sum + unread, 0);
	}

	/** Applies a line, which may answer a request. */
	apply(line, request) {
		const { on, text } = line;
		const name = line.chat ?? request?.chat;
		const chat = ["peer", "typing", "message"].includes(on) ? this.#chat(name) : this.chats.get(name);
		if (on === "ready") this.#begin(line);
		else if (on === "status" || on === "chats") this.#list(line);
		else if (on === "self") Object.assign(this.self, { name: line.name, away: line.away });
		else if (on === "people") this.blocked = line.people;
		else if (on === "notice") this.#notice(line);
		else if (on === "ok") this.#done(line, request);
		else if (line.state === "lost") this.lost = line;
		else if (line.state === "back") this.lost = null;
		else if (line.state === "reused") this.notices.set("reused", "Somebody used this page's address a second time, and was refused. If it was not you, another program reads your addresses: end inkling web.");
		else if (!chat) return;
		else if (on === "peer") this.#meet(chat, line);
		else if (on === "typing") chat.typing = line;
		else if (on === "message") this.#receive(chat, line);
		else if (on === "recent") this.#recall(chat, line.messages);
		else if (on === "sightings") chat.sightings = line;
		else if (on === "missed" && line.messages) this.#remark(chat, { text: `${line.messages} messages were not kept.` });
		else if (on === "sent") this.#settle(chat, request?.local, { state: "sent", to: line.to, at: line.at }, line.message);
		else if (on === "error" && request.do === "send") this.#settle(chat, request.local, { state: "refused", error: text });
		else if (on === "delivered" || on === "failed") {
			const message = chat.byKey.get(this.#key({ own: true, sent: line.message }));
			if (!message) return;
			if (on === "failed") message.failed.set(line.user, line.why);
			else message.delivered.add(line.user);
			message.version++;
		}
	}

	/** Records that the current chat came into sight: what waited is below its marker. */
	show() {
		this.shown = this.current;
		if (this.open) Object.assign(this.open, { marker: this.open.firstUnread, firstUnread: null, unread: 0 });
	}

	/** Adds a message of the user before its request, and returns its key. */
	compose(chat, text, at) {
		const key = `local/${++this.#locals}`;
		chat.marker = null;
		this.#add(chat, key, { at, text, own: true, from: this.self }).state = "sending";
		return key;
	}

	/** Records that the connection ended. Requests without an answer never get one. */
	disconnect() {
		this.isReady = false;
		for (const chat of this.chats.values()) {
			Object.assign(chat, { typing: { users: [] }, isJoined: false, isRecent: false });
			for (const { state, key } of chat.messages) if (state === "sending") this.#settle(chat, key, { state: "unknown" });
		}
	}

	/** Records in all chats what the user decided about a key. */
	know(key, change) {
		for (const { people } of this.chats.values()) {
			for (const person of people.values()) {
				if (person.key === key) person.label = label(Object.assign(person, change));
			}
		}
	}

	/** Returns the person behind a `from`, with a label. */
	person({ people }, from) {
		return people.get(from.user) ?? { label: label(from), ...from };
	}

	/** Returns a chat's people: those who are there first, then by label. */
	people({ people }) {
		const rank = ({ presence, label }) => RANKS.indexOf(presence) + label.toLowerCase();
		return [...people.values()].sort((left, right) => rank(left) < rank(right) ? -1 : 1);
	}

	present({ people }) {
		return [...people.values()].filter(({ presence }) => presence !== "offline").length;
	}

	/** Returns who types in a chat and is not muted, the latest start first. */
	typists(chat) {
		return chat.typing.users.filter(({ user }) => !this.muted.has(user)).map((from) => this.person(chat, from));
	}

	#chat(name) {
		const chat = this.chats.get(name) ?? {
			name, people: new Map(), typing: { users: [] }, messages: [], byKey: new Map(), draft: "", unread: 0,
		};
		this.chats.set(name, chat);
		return chat;
	}

	#begin({ user, name, key }) {
		this.self = { user, name, key, away: false };
		this.lost = null;
		this.isReady = true;
		this.notices.clear();
		for (const { people } of this.chats.values()) for (const person of people.values()) person.presence = "offline";
	}

	#list({ chats, since, away }) {
		if (since) {
			this.#since = since;
			this.self.away = away;
		}
		const names = chats.map(({ chat }) => chat);
		for (const name of this.chats.keys()) if (!names.includes(name)) this.chats.delete(name);
		for (const { chat: name, secret, waiting, looking } of chats) {
			const chat = Object.assign(this.#chat(name), { isSecret: secret, isLooking: looking });
			if (name === this.shown) continue;
			chat.unread = waiting;
			if (!waiting) chat.firstUnread = null;
		}
	}

	#meet({ people }, person) {
		const { at, presence } = person;
		people.set(person.user, { lastSeen: presence === "offline" ? at : 0, ...person, label: label(person) });
	}

	#receive(chat, line) {
		const { own, waited, from } = line;
		const key = this.#key(line);
		const isKnown = chat.byKey.has(key);
		if (this.#isMuted(line, isKnown)) return;
		if (!isKnown) this.#add(chat, key, line);
		if (own) return;
		if (this.shown !== chat.name) {
			chat.unread += !isKnown;
			chat.firstUnread ??= key;
		} else if (waited) chat.marker ??= key;
	}

	#isMuted({ own, from: { user } }, isKnown) {
		if (own || !this.muted.has(user)) return false;
		this.muted.set(user, this.muted.get(user) + !isKnown);
		return true;
	}

	/** Merges the daemon's last messages of a chat with those of the page. */
	#recall(chat, lines) {
		for (const line of lines) {
			const key = this.#key(line);
			// The daemon has a message whose answer was lost with a connection.
			const lost = !chat.byKey.has(key) && line.own
				&& chat.messages.find(({ state, text }) => state === "unknown" && text === line.text);
			if (lost) chat.byKey.set(key, lost);
			if (chat.byKey.has(key)) {
				if (line.own) this.#settle(chat, key, { ...outcomes(line), state: "sent" });
			} else if (!this.muted.has(line.from.user)) this.#add(chat, key, line);
		}
		chat.messages.sort((left, right) => left.at - right.at);
		chat.isRecent = true;
	}

	/** Changes an own message, and gives it the daemon's number. */
	#settle(chat, key, change, number) {
		const message = chat.byKey.get(key);
		if (!message) return;
		Object.assign(message, change).version++;
		if (number) chat.byKey.set(this.#key({ own: true, sent: number }), message);
	}

	#notice(line) {
		const { code, text, user, chat } = line;
		if (code === "discovery-up") this.notices.delete("discovery-down");
		else if (code === "key-changed") {
			for (const place of this.chats.values()) {
				if (chat ? chat === place.name : place.people.has(user)) this.#remark(place, line);
			}
		} else if (code !== "open-chat") this.notices.set(code, text);
	}

	/** Adds a line of the page's own: a warning if it names a person. */
	#remark(chat, line) {
		const { user, name } = line;
		const at = line.at ?? chat.messages.at(-1)?.at ?? 0;
		this.#add(chat, `local/${++this.#locals}`, { ...line, at, from: { user, name } }).remark = line;
	}

	#done({ chat: name, peers = [], invite, at }, request) {
		if (request?.do === "join") {
			const chat = Object.assign(this.#chat(name), { isJoined: true, isSecret: invite !== undefined });
			for (const person of peers) this.#meet(chat, { at, ...person });
		} else if (request?.do === "leave") this.chats.delete(request.chat);
		else if (/^(away|back)$/.test(request?.do)) this.self.away = request.do === "away";
	}

	#key({ own, sent, message }) {
		return `${this.#since}/${own ? "own" : "from"}/${own ? sent : message}`;
	}

	#add(chat, key, { at, text, from, own, delayed, ...rest }) {
		const { name } = this.self;
		const isMention = !own && name && pattern(name, (name) => `(?<!${LETTER})${name}(?!${LETTER})`).test(text);
		const message = {
			key, at, text, own, delayed, isMention, from: { ...from, label: label(from) }, version: 0, ...outcomes(rest),
		};
		chat.messages.push(message);
		chat.byKey.set(key, message);
		if (chat.messages.length > MOST) {
			const dropped = new Set(chat.messages.splice(0, 500));
			for (const [key, message] of chat.byKey) if (dropped.has(message)) chat.byKey.delete(key);
		}
		return message;
	}
}
