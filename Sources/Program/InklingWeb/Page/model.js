// The state of the page: chats, people and messages. The model has no clock, no document and no connection.

import { label } from "./text.js";

/** The most messages that the page holds of a chat. Beyond it, the oldest 500 go. */
const MOST = 10000;
const LETTER = "[\\p{L}\\p{N}]";
const RANKS = ["online", "away", "offline"];

const chats = new Map();
/** How many messages of each muted person were left out. */
const muted = new Map();
const notices = new Map();
/** `current` is the name of the chat in the page; `shown` is the same while the page is in sight. */
export const model = {
	chats, muted, notices, self: { user: "", name: "" }, current: null, shown: null, isReady: false, lost: null, blocked: [],
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
/** Returns who types in a chat and is not muted, the latest start first. */
export const typists = (chat) => chat.typing.users.filter(({ user }) => !muted.has(user)).map((from) => person(chat, from));

const nameOf = ({ own, sent, message }) => `${since}/${own ? "own" : "from"}/${own ? sent : message}`;
const outcomes = ({ to, delivered = [], failed = [] }) =>
	({ to, delivered: new Set(delivered), failed: new Map(failed.map(({ user, why }) => [user, why])) });

/** Applies a line, which may answer a request. */
export function apply(line, request) {
	const { on, text, message } = line;
	const name = line.chat ?? request?.chat;
	const chat = /^(peer|typing|message)$/.test(on) ? chatOf(name) : chats.get(name);
	if (on === "ready") begin(line);
	else if (on === "status" || on === "chats") list(line);
	else if (on === "self") Object.assign(model.self, { name: line.name, away: line.away });
	else if (on === "people") model.blocked = line.people;
	else if (on === "notice") notice(line);
	else if (on === "ok") done(line, request ?? {});
	else if (on === "inkling-web") bridge(line);
	else if (!chat) return;
	else if (on === "peer") meet(chat, line);
	else if (on === "typing") chat.typing = line;
	else if (on === "message") receive(chat, line);
	else if (on === "recent") recall(chat, line.messages);
	else if (on === "sightings") chat.sightings = line;
	else if (on === "missed" && line.messages) remark(chat, { text: `${line.messages} messages were not kept.` });
	else if (on === "sent") {
		settle(chat, request?.local, { state: on, to: line.to, at: line.at });
		chat.byKey.set(nameOf({ own: true, sent: message }), chat.byKey.get(request?.local));
	} else if (on === "error") settle(chat, request.local, { state: on, error: text });
	else if (on === "delivered" || on === "failed") {
		const key = nameOf({ own: true, sent: message });
		chat.byKey.get(key)?.[on][on === "failed" ? "set" : "add"](line.user, line.why);
		settle(chat, key);
	}
}

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
	if (!chats.has(name)) chats.set(name, {
		name, people: new Map(), typing: { users: [] }, messages: [], byKey: new Map(), draft: "", unread: 0,
	});
	return chats.get(name);
}

function begin({ user, name, key }) {
	disconnect();
	notices.clear();
	Object.assign(model, { self: { user, name, key, away: false }, lost: null, isReady: true });
	for (const { people } of chats.values()) for (const one of people.values()) one.presence = "offline";
}

function list({ chats: all, since: start, away }) {
	if (start) [since, model.self.away] = [start, away];
	const names = all.map(({ chat }) => chat);
	for (const name of chats.keys()) if (!names.includes(name)) chats.delete(name);
	for (const { chat: name, secret, waiting, looking } of all) {
		const chat = Object.assign(chatOf(name), { isSecret: secret, isLooking: looking });
		if (name === model.shown) continue;
		chat.unread = waiting;
		if (!waiting) chat.firstUnread = null;
	}
}

function meet({ people }, line) {
	const lastSeen = line.presence === "offline" ? line.at : 0;
	people.set(line.user, { lastSeen, ...line, label: label(line) });
}

function receive(chat, line) {
	const key = nameOf(line);
	const { user } = line.from;
	const isNew = !chat.byKey.has(key);
	if (!line.own && muted.has(user)) return muted.set(user, muted.get(user) + isNew);
	if (isNew) add(chat, key, line);
	if (line.own) return;
	if (model.shown !== chat.name) {
		chat.unread += isNew;
		chat.firstUnread ??= key;
	} else if (line.waited) chat.marker ??= key;
}

/** Merges the daemon's last messages of a chat with those of the page. */
function recall(chat, lines) {
	const { byKey, messages } = chat;
	for (const line of lines) {
		const key = nameOf(line);
		// The daemon has a message whose answer the page missed.
		const missed = line.own && !byKey.has(key) && messages.find(({ state, text }) => state === "unknown" && text === line.text);
		if (missed) byKey.set(key, missed);
		if (!byKey.has(key) && (line.own || !muted.has(line.from.user))) add(chat, key, line);
		if (line.own) settle(chat, key, { ...outcomes(line), state: "sent" });
	}
	messages.sort((left, right) => left.at - right.at);
	chat.isRecent = true;
}

/** Changes an own message. */
function settle(chat, key, change) {
	const message = chat.byKey.get(key);
	if (message) Object.assign(message, change).version++;
}

function notice(line) {
	const { code, text, user, chat } = line;
	if (code === "discovery-up") notices.delete("discovery-down");
	else if (code === "key-changed") {
		for (const place of chats.values()) if (chat ? chat === place.name : place.people.has(user)) remark(place, line);
	} else if (code !== "open-chat") notices.set(code, text);
}

/** Adds a line of the page's own, which is a warning if it names a person. */
function remark(chat, line) {
	const { user, name, at = chat.messages.at(-1)?.at ?? 0 } = line;
	add(chat, `local/${++locals}`, { ...line, at, from: { user, name } }).remark = line;
}

function done({ chat: name, peers = [], invite, at }, request) {
	if (request.do === "join") {
		const chat = Object.assign(chatOf(name), { isJoined: true, isSecret: invite !== undefined });
		for (const one of peers) meet(chat, { at, ...one });
	} else if (request.do === "leave") chats.delete(request.chat);
}

function bridge(line) {
	if (line.state === "reused") {
		notices.set("reused", "Somebody used this page's address again, and was refused. If it was not you, end inkling web.");
	} else if (line.state === "lost") disconnect();
	model.lost = line.state === "lost" ? line : null;
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
