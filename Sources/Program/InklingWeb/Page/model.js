// The state of the page: chats, people and messages, without clock, document or connection.

import {has, label, plain, same} from "./text.js";

const chats = new Map(), invitations = new Map(), muted = new Set();
/** `shown` is `current` while the page is in sight. The daemon's start is `since`, the time of its last line `now`.
 * The page's server has kept `drafts`, `places` and `choices` for this tab, and the chat that a page showed `last`. */
export const model = {
	chats, invitations, muted, self: {}, waits: [], notices: [], lobby: "lobby", drafts: new Map(), places: new Map(), choices: new Map(),
	get open() { return chats.get(model.current); },
};
let locals = 0;

export function sorted({people}) {
	const rank = (one) => !isHere(one) + one.label.toLowerCase();
	return [...people.values()].sort((left, right) => rank(left) < rank(right) ? -1 : 1);
}

export const person = ({people}, from) => people.get(from.user) ?? {label: label(from), ...from};
export const isHere = (one) => one && one.presence !== "offline";
export const present = ({people}) => [...people.values()].filter(isHere).length;
export const everybody = () => [...chats.values()].flatMap(({people}) => [...people.values()]);
export const typists = (chat) => chat.typing.filter((one) => !muted.has(one.user)).map((one) => person(chat, one));

export const outcomes = ({to, delivered = [], waiting = [], failed = []}) =>
	({to, delivered: new Set(delivered), waiting: new Set(waiting), failed: new Map(failed.map(({user, why}) => [user, why]))});

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
	model.notices = [];
	invitations.clear();
	for (const chat of chats.values()) {
		Object.assign(chat, {typing: [], isJoined: false, isRecent: false});
		for (const {state, key} of chat.messages) if (state === "sending") settle(chat, key, {state: "unknown"});
	}
}

export function decide(key, change) {
	for (const one of everybody()) if (one.key === key) one.label = label(Object.assign(one, change));
}

export function chatOf(name) {
	if (!chats.has(name)) chats.set(name,
		{name, people: new Map(), typing: [], messages: [], byKey: new Map(), draft: model.drafts.get(name) ?? "", unread: 0});
	return chats.get(name);
}

/** The people who move come again. */
export function moved({owner}, chat) {
	const known = [...chat.people.values()].find(({key}) => key === owner);
	const whose = owner === model.self.key ? "You own it" : `Its owner is ${known?.label ?? "somebody whom you have not met"}`;
	remark(Object.assign(chat, {owner}), {text: `${plain(chat.name)} has moved to a new secret. ${whose}.`});
	chat.people.clear();
}

export function meet(line, chat) {
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

export function settle(chat, key, change, user) {
	const message = chat.byKey.get(key) ?? outcomes({});
	message.version++;
	message.waiting.delete(user);
	return Object.assign(message, change);
}

export function remark(chat, line) {
	const {user, name, at = model.now} = line;
	add(chat, `local/${++locals}`, {...line, at, from: {user, name}, remark: line});
}

export function add({messages, byKey}, key, line, next) {
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
