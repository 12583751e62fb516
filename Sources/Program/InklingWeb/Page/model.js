// The state of the page: chats, people and messages. The model has no clock, no document and no connection.

import { label } from "./text.js";

/** The most messages of a chat in the page. Beyond it, the oldest 500 go. */
const MOST = 10000;
const LETTER = "[\\p{L}\\p{N}]";
const RANKS = ["online", "away", "offline"];

const chats = new Map();
/** By muted person, how many messages were left out. */
const muted = new Map();
/** `current` names the chat in the page, and `shown` the same while the page is in sight. */
export const model = {
	chats, muted, self: {}, current: null, shown: null, lost: null, isReady: false,
	get open() { return chats.get(model.current); },
};
/** The daemon's start, with which numbers of messages begin again. */
let since = 0;
let locals = 0;

/** Returns the pattern that finds a text in either case, as a word or anywhere. */
export function pattern(text, isWord) {
	const safe = text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
	return RegExp(isWord ? `(?<!${LETTER})${safe}(?!${LETTER})` : safe, "giu");
}

/** Returns a chat's people: those who are there first, then by label. */
export function sorted({ people }) {
	const rank = ({ presence, label }) => RANKS.indexOf(presence) + label.toLowerCase();
	return [...people.values()].sort((left, right) => rank(left) < rank(right) ? -1 : 1);
}

/** Returns the person behind the `from` of a line. */
export const person = ({ people }, from) => people.get(from.user) ?? { label: label(from), ...from };
export const present = ({ people }) => [...people.values()].filter(({ presence }) => presence !== "offline").length;
/** Returns who types and is not muted, the latest start first. */
export const typists = (chat) => chat.typing.users.filter(({ user }) => !muted.has(user)).map((from) => person(chat, from));

const keyOf = ({ own, sent, message }) => `${since}/${own ? `own/${sent}` : message}`;
const outcomes = ({ to, delivered = [], failed = [] }) =>
	({ to, delivered: new Set(delivered), failed: new Map(failed.map(({ user, why }) => [user, why])) });

/** Applies a line, which may answer a request. */
export function apply(line, request = {}) {
	const { on } = line;
	const name = line.chat ?? request.chat;
	const chat = /^(peer|typing|message)$/.test(on) ? chatOf(name) : chats.get(name);
	if (Object.hasOwn(handlers, on) && (chat || !line.chat || on === "ok")) handlers[on](line, chat, request);
}

const handlers = {
	ready({ user, name, key }) {
		disconnect();
		Object.assign(model, { self: { user, name, key }, lost: null, isReady: true });
		for (const { people } of chats.values()) for (const one of people.values()) one.presence = "offline";
	},
	status(line) {
		since = line.since;
		model.self.away = line.away;
		handlers.chats(line);
	},
	chats({ chats: all }) {
		for (const name of chats.keys()) if (!all.some(({ chat }) => chat === name)) chats.delete(name);
		for (const { chat: name, secret, waiting, looking } of all) {
			const chat = Object.assign(chatOf(name), { isSecret: secret, isLooking: looking });
			if (name === model.shown) continue;
			chat.unread = waiting;
			if (!waiting) chat.firstUnread = null;
		}
	},
	self({ name, away }) {
		Object.assign(model.self, { name, away });
	},
	peer: (line, chat) => meet(chat, line),
	typing(line, chat) {
		chat.typing = line;
	},
	message(line, chat) {
		const key = keyOf(line);
		const { user } = line.from;
		const isNew = !chat.byKey.has(key);
		if (!line.own && muted.has(user)) return muted.set(user, muted.get(user) + isNew);
		if (isNew) add(chat, key, line);
		if (line.own) return;
		if (model.shown !== chat.name) {
			chat.unread += isNew;
			chat.firstUnread ??= key;
		} else if (line.waited) chat.marker ??= key;
	},
	/** Merges the daemon's last messages of a chat with those of the page. */
	recent(line, chat) {
		const { byKey, messages } = chat;
		for (const one of line.messages) {
			const key = keyOf(one);
			const isMissed = ({ state, text }) => state === "unknown" && text === one.text;
			const missed = one.own && !byKey.has(key) && messages.find(isMissed);
			if (missed) byKey.set(key, missed);
			if (!byKey.has(key) && (one.own || !muted.has(one.from.user))) add(chat, key, one);
			if (one.own) settle(chat, key, { ...outcomes(one), state: "sent" });
		}
		messages.sort((left, right) => left.at - right.at);
		chat.isRecent = true;
	},
	sent({ to, at, message: sent }, chat, { local }) {
		chat.byKey.set(keyOf({ own: true, sent }), settle(chat, local, { to, at, state: "sent" }));
	},
	delivered: ({ user, message: sent }, chat) => settle(chat, keyOf({ own: true, sent })).delivered.add(user),
	failed: ({ user, why, message: sent }, chat) => settle(chat, keyOf({ own: true, sent })).failed.set(user, why),
	error({ text }, chat, { local }) {
		if (local) settle(chat, local, { error: text, state: "error" });
	},
	missed({ messages }, chat) {
		if (messages) remark(chat, { text: `${messages} messages were not kept.` });
	},
	sightings(line, chat) {
		chat.sightings = line;
	},
	notice(line) {
		const { code, user, chat } = line;
		for (const place of code === "open-chat" ? [] : chats.values()) {
			if (chat ? chat === place.name : !user || place.people.has(user)) remark(place, line);
		}
	},
	ok({ chat: name, peers = [], invite, at }, chat, request) {
		if (request.do === "leave") chats.delete(request.chat);
		if (request.do !== "join") return;
		const joined = Object.assign(chatOf(name), { isJoined: true, isSecret: invite !== undefined });
		for (const one of peers) meet(joined, { at, ...one });
	},
	"inkling-web"(line) {
		const { state } = line;
		if (state === "reused") handlers.notice({ text: "This page's address was used again, and refused. If it was not you, end inkling web." });
		else if (state === "lost") disconnect();
		model.lost = state === "lost" ? line : null;
	},
};

/** Records that the current chat came into sight: what waited is below its marker. */
export function show() {
	const { open } = model;
	model.shown = model.current;
	if (open) Object.assign(open, { marker: open.firstUnread, firstUnread: null, unread: 0 });
}

/** Adds a message of the user before its request, and returns its key. */
export function compose(chat, text, at) {
	const key = `local/${++locals}`;
	chat.marker = null;
	add(chat, key, { at, text, own: true, from: model.self }).state = "sending";
	return key;
}

/** Records that the connection ended. Requests without an answer never get one. */
export function disconnect() {
	model.isReady = false;
	for (const chat of chats.values()) {
		Object.assign(chat, { typing: { users: [] }, isJoined: false, isRecent: false });
		for (const { state, key } of chat.messages) if (state === "sending") settle(chat, key, { state: "unknown" });
	}
}

/** Records in all chats what the user decided about a key. */
export function decide(key, change) {
	for (const { people } of chats.values()) {
		for (const one of people.values()) if (one.key === key) one.label = label(Object.assign(one, change));
	}
}

function chatOf(name) {
	if (!chats.has(name)) chats.set(name,
		{ name, people: new Map(), typing: { users: [] }, messages: [], byKey: new Map(), draft: "", unread: 0 });
	return chats.get(name);
}

function meet({ people }, line) {
	people.set(line.user, { lastSeen: line.presence === "offline" ? line.at : 0, ...line, label: label(line) });
}

/** Changes an own message. An unknown one is a message of before this page. */
function settle(chat, key, change) {
	const message = chat.byKey.get(key) ?? outcomes({});
	message.version++;
	return Object.assign(message, change);
}

/** Adds a line of the page's own, which is a warning if it names a person. */
function remark(chat, line) {
	const { user, name, at = chat.messages.at(-1)?.at ?? 0 } = line;
	add(chat, `local/${++locals}`, { ...line, at, from: { user, name } }).remark = line;
}

function add(chat, key, { at, text, from, own, delayed, ...rest }) {
	const { name } = model.self;
	const isMention = !own && name && pattern(name, true).test(text);
	const message = { key, at, text, own, delayed, isMention, from: { ...from, label: label(from) }, version: 0, ...outcomes(rest) };
	chat.messages.push(message);
	chat.byKey.set(key, message);
	if (chat.messages.length > MOST) {
		const old = new Set(chat.messages.splice(0, 500));
		for (const [key, message] of chat.byKey) if (old.has(message)) chat.byKey.delete(key);
	}
	return message;
}
