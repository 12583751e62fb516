// The state of the page: chats, people and messages, without clock, document or connection.

import {has, label, plain, same} from "./text.js";

const chats = new Map();
const invitations = new Map();
const muted = new Set();
/** `shown` is `current` while the page is in sight. */
export const model = {
	chats, invitations, muted, self: {}, drafts: new Map(),
	get open() { return chats.get(model.current); },
};
/** The daemon's start. Numbers of messages begin again with it. */
let since, now, locals = 0;

export function sorted({people}) {
	const rank = (one) => !isHere(one) + one.label.toLowerCase();
	return [...people.values()].sort((left, right) => rank(left) < rank(right) ? -1 : 1);
}

export const person = ({people}, from) => people.get(from.user) ?? {label: label(from), ...from};
export const isHere = (one) => one && one.presence !== "offline";
export const present = ({people}) => [...people.values()].filter(isHere).length;
export const typists = (chat) => chat.typing.users.filter((one) => !muted.has(one.user)).map((one) => person(chat, one));

const ownKey = (number) => `${since}/own/${number}`;
const keyOf = ({own, sent, message}) => own ? ownKey(sent) : `${since}/${message}`;
const outcomes = ({to, delivered = [], waiting = [], failed = []}) =>
	({to, delivered: new Set(delivered), waiting: new Set(waiting), failed: new Map(failed.map(({user, why}) => [user, why]))});

export function apply(line, request = {}) {
	const {on} = line, name = line.chat ?? request.chat;
	now = line.at ?? now;
	// A chat that was left stays away.
	const chat = on === "message" || line.users?.length || on === "peer" && isHere(line)
		? chatOf(name) : chats.get(name);
	if (chat || !line.chat || /^(ok|notice)$/.test(on)) handlers[on]?.(line, chat, request);
}

const handlers = {
	ready({user, name, key}) {
		disconnect();
		Object.assign(model, {self: {user, name, key}, isReady: true});
		for (const {people} of chats.values()) for (const one of people.values()) one.presence = "offline";
	},
	status({since: start, away, chats: all}) {
		since = start;
		model.self.away = away;
		for (const name of chats.keys()) if (name !== model.current && !all.some(({chat}) => chat === name)) chats.delete(name);
		for (const one of all) {
			const chat = Object.assign(chatOf(one.chat), one);
			if (chat.name === model.shown) continue;
			chat.unread = one.waiting;
			if (!one.waiting) chat.firstUnread = null;
		}
	},
	self({name, away}) { Object.assign(model.self, {name, asked: away}); },
	peer(line, chat) {
		meet(line, chat);
		if (line.why === "removed") remark(chat, {text: `You were removed from ${plain(chat.name)}.`});
	},
	typing(line, chat) { chat.typing = line; },
	message(line, chat) {
		const key = keyOf(line), {own, from: {user}} = line, isNew = !chat.byKey.has(key);
		if (isNew && muted.has(user)) return;
		if (isNew) add(chat, key, line);
		if (own) return;
		if (model.shown !== chat.name) {
			chat.unread += isNew;
			chat.firstUnread ??= key;
		} else if (line.waited) chat.marker ??= key;
	},
	recent(line, chat) {
		const {byKey, messages} = chat;
		// By arrival, not by time.
		let next = messages.find(({state}) => state === "sending");
		for (const one of line.messages.reverse()) {
			const key = keyOf(one), {at, own, text} = one;
			const old = byKey.get(key) ?? messages.findLast((it) => own && it.state === "unknown" && it.text === text && Math.abs(it.at - at) < 9);
			old ? byKey.set(key, old) : muted.has(one.from.user) || add(chat, key, one, next);
			next = byKey.get(key) ?? next;
			if (own) settle(chat, key, {...outcomes(one), state: "sent"});
		}
		chat.isRecent = true;
	},
	sent({to, at, message}, chat, {local, lost}) {
		chat.byKey.set(ownKey(message), settle(chat, local, {to, at, lost, state: "sent"}));
	},
	waiting({user, message}, chat) { settle(chat, ownKey(message)).waiting.add(user); },
	delivered({user, message}, chat) { settle(chat, ownKey(message), {}, user).delivered.add(user); },
	failed({user, why, message}, chat) {
		const {failed, lost} = settle(chat, ownKey(message), {}, user);
		failed.set(user, why);
		if (lost) remark(model.open ?? chat, {text: lost});
	},
	error({text}, chat, {local}) {
		if (chat && local) settle(chat, local, {error: text, state: "error"});
	},
	missed({messages}, chat) { if (messages) remark(chat, {text: `${messages} messages were not kept.`}); },
	sightings(line, chat) { chat.sightings = line; },
	notice(line) {
		const {code, user, known, chat, invitation, key} = line, by = known ? "known" : "text";
		if (/invited|newcomer/.test(code)) return muted.has(user) || invitations.set(invitation ?? chat + key, line);
		if (invitation) return invitations.delete(invitation);
		if (code === "moved") return moved(line, chatOf(chat));
		const isNew = (one) => /^discovery/.test(code) || !one.messages.some(({remark}) => remark?.[by] === line[by]);
		for (const one of code === "open-chat" ? [] : chats.values()) {
			if ((chat ? chat === one.name : !user || [user, known].some((id) => one.people.has(id))) && isNew(one)) remark(one, line);
		}
	},
	who(line, chat) { for (const one of line.peers) meet(one, chat); },
	ok({chat: name, peers = [], invite, with: partner, owner, at}, chat, request) {
		if (request.do === "leave") chats.delete(request.chat);
		if (!/join|talk|accept/.test(request.do)) return;
		const joined = Object.assign(chatOf(name), {isJoined: true, secret: !!(invite ?? partner), with: partner, owner});
		for (const one of peers) meet({at, ...one}, joined);
	},
	"inkling-web"(line) {
		const {state, drafts} = line;
		if (drafts) model.drafts = new Map(Object.entries(drafts));
		if (/lost|back/.test(state)) disconnect();
		if (state === "lost") model.lost = line;
	},
};

export function show() {
	model.shown = model.current;
	Object.assign(model.open, {marker: model.open.firstUnread, firstUnread: null, unread: 0});
}

export function compose(chat, text, at) {
	const key = `local/${++locals}`;
	chat.marker = null;
	add(chat, key, {at, text, own: true, from: model.self, state: "sending"});
	return key;
}

export function disconnect() {
	model.isReady = model.lost = null;
	invitations.clear();
	for (const chat of chats.values()) {
		Object.assign(chat, {typing: {users: []}, isJoined: false, isRecent: false});
		for (const {state, key} of chat.messages) if (state === "sending") settle(chat, key, {state: "unknown"});
	}
}

export function decide(key, change) {
	for (const {people} of chats.values()) {
		for (const one of people.values()) if (one.key === key) one.label = label(Object.assign(one, change));
	}
}

function chatOf(name) {
	if (!chats.has(name)) chats.set(name,
		{name, people: new Map(), typing: {users: []}, messages: [], byKey: new Map(), draft: model.drafts.get(name) ?? "", unread: 0});
	return chats.get(name);
}

/** The people who move come again. */
function moved({owner}, chat) {
	const known = [...chat.people.values()].find(({key}) => key === owner);
	const whose = owner === model.self.key ? "You own it" : `Its owner is ${known?.label ?? "somebody whom you have not met"}`;
	remark(Object.assign(chat, {owner}), {text: `${plain(chat.name)} has moved to a new secret. ${whose}.`});
	chat.people.clear();
}

function meet(line, chat) {
	const {name, people} = chat, {self} = model;
	if (isHere(line)) invitations.delete(name + line.key);
	if (isHere(line) && !chat.hasNamesake && same(line.name, self.name)) {
		chat.hasNamesake = true;
		remark(chat, {text: `Somebody else here has your name: others see you as ${plain(self.name)} ~${self.user.slice(0, 4)}. To change your name, press it at the top.`});
	}
	// Strangers come and go.
	if (people.size > 500) for (const [id, one] of people) if (!isHere(one) && !one.verified) people.delete(id);
	people.set(line.user, {lastSeen: !isHere(line) && line.at, ...line, label: label(line)});
}

function settle(chat, key, change, user) {
	const message = chat.byKey.get(key) ?? outcomes({});
	message.version++;
	message.waiting.delete(user);
	return Object.assign(message, change);
}

export function remark(chat, line) {
	const {user, name, at = now} = line;
	add(chat, `local/${++locals}`, {...line, at, from: {user, name}, remark: line});
}

function add({messages, byKey}, key, line, next) {
	const {name} = model.self, {from, own, text} = line;
	const isMention = !own && name && has(text, name, "[\\p{L}\\p{M}\\p{N}_]");
	const message = {...line, ...outcomes(line), key, isMention, from: {...from, label: label(from)}, version: 0};
	messages.splice(messages.indexOf(next) >>> 0, 0, message);
	byKey.set(key, message);
	if (messages.length > 10000) {
		const old = new Set(messages.splice(0, 500));
		for (const [key, one] of byKey) if (old.has(one)) byKey.delete(key);
	}
}
