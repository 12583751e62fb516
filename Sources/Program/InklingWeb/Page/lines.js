// The lines of the API (Protocol/api.md), which only this module writes and reads.

import {abandon, ask, tell} from "./connection.js";
import {hooks} from "./hooks.js";
import {add, chatOf, disconnect, everybody, isHere, meet, model, moved, outcomes, remark, settle} from "./model.js";
import {plain} from "./text.js";

const {chats, invitations, muted} = model;

const all = (words, write, more) => Object.fromEntries(words.split(" ").map((word) =>
	[word, (members, own) => write({do: word, ...members, ...more}, own)]));
/** Requests: `requests.leave({chat})`. The members of `own` stay in the page.
 * `tell` returns whether the page is connected, `ask` a promise of what `apply` returns. */
export const requests = {
	...all("open read compose", tell),
	...all("status subscribe away back nick leave messages who sightings send invite move admit decline", ask),
	...all("fingerprint verify unverify block unblock people waiting forget", ask),
	history: (chat, isOn) => ask({do: "history", chat, on: isOn}),
	hold: (chat, isOn) => ask({do: "hold", chat, on: isOn}),
	...all("join talk accept", ask, {open: false}),
	/** Lets the page's server keep a text of a chat for a reload: `drafts`, `places` or `choices`. */
	keep: ({kind, chat, text}) => tell({do: "inkling-web-keep", kind, chat, text}),
	shown: (chat) => tell({do: "inkling-web-shown", chat}),
	named: () => tell({do: "inkling-web-named"}),
	examine: (chat) => tell({do: "inkling-web-examine", chat}),
	icon: (isOn) => tell({do: "inkling-web-icon", icon: isOn ? "on" : "off"}),
	startDaemon: () => tell({do: "inkling-web-start"}),
};

// names that stand for two chats, by the kind of the chat that `confirm` joins.
const DOUBTS = {"private-name": "open", "names-unknown": "open", "open-name": "private", "similar-name": "private"};

const has = ({messages}, line, by = "text") => messages.some(({remark}) => remark?.[by] === line[by]);

/** Applies a line to the model. Returns the line, or `{error, doubt}` for an error: its text, and a kind of `DOUBTS`. */
export function apply(line, request = {}) {
	const {on, code, text} = line, name = line.chat ?? request.chat;
	model.now = line.at ?? model.now;
	// A chat that was left stays away.
	const chat = on === "message" || line.users?.length || on === "peer" && isHere(line)
		? chatOf(name) : chats.get(name);
	if (chat || !line.chat || /^(ok|notice)$/.test(on)) handlers[on]?.(line, chat, request);
	if (line.unread && name === model.shown) hooks.read(name);
	hooks.render();
	return on === "error" ? {error: text || code, doubt: DOUBTS[code]} : line;
}

// Numbers of messages begin again with the daemon.
const ownKey = (number) => `${model.since}/own/${number}`;
const keyOf = ({own, sent, message}) => own ? ownKey(sent) : `${model.since}/${message}`;

/** The key of the message of an outcome. After a restart of the daemon, the outcome has an entry of what waited. */
function keyOfOutcome({message, entry}, {messages}) {
	if (message !== undefined) return ownKey(message);
	const wait = model.waits.find((one) => one.entry === entry);
	return wait && messages.findLast(({own, text, at}) => own && text === wait.text && Math.abs(at - wait.at) < 9)?.key;
}

let counting;

/** What waits is asked for once some outcomes have come. */
function count() {
	clearTimeout(counting);
	counting = setTimeout(requests.waiting, 200);
}

function parse(text) {
	try {
		return JSON.parse(text) ?? {};
	} catch {
		return {};
	}
}

const map = (members = {}) => new Map(Object.entries(members));

const handlers = {
	ready({user, name, key}) {
		abandon();
		disconnect();
		Object.assign(model, {self: {user, name, key}, isReady: true});
		for (const one of everybody()) one.presence = "offline";
		hooks.ready();
	},
	status({since, away, chats: all}) {
		model.since = since;
		model.self.away = away;
		for (const name of chats.keys()) if (name !== model.current && !all.some(({chat}) => chat === name)) chats.delete(name);
		for (const {chat: name, unread, ...one} of all) {
			const chat = Object.assign(chatOf(name), one);
			if (name === model.shown) continue;
			chat.unread = unread;
			if (!unread) chat.firstUnread = null;
		}
	},
	self({name, away}) {
		Object.assign(model.self, {name, asked: away});
		requests.status();
	},
	peer(line, chat) {
		meet(line, chat);
		if (line.why === "removed") remark(chat, {text: `You were removed from ${plain(chat.name)}.`});
	},
	typing({users}, chat) { hooks.showTyping(chat.typing = users); },
	message(line, chat) {
		const key = keyOf(line), {own, from: {user}} = line, isNew = !chat.byKey.has(key);
		if (isNew && muted.has(user)) return;
		if (isNew) add(chat, key, line);
		if (own) return;
		if (isNew) hooks.arrived(chat, chat.byKey.get(key));
		if (model.shown !== chat.name) {
			chat.unread += isNew;
			chat.firstUnread ??= key;
		} else if (line.unread) chat.marker ??= key;
	},
	missed({messages}, chat) { if (messages) remark(chat, {text: `${messages} messages were not kept.`}); },
	messages(line, chat, {text: search, before}) {
		if (search) return;
		const {byKey, messages} = chat;
		// Without an entry before these messages, the page has the beginning.
		if (before || chat.first === undefined) chat.first = line.messages[0]?.entry ?? 0;
		// By arrival, not by time.
		let next = before ? messages[0] : messages.find(({state}) => state === "sending");
		for (const one of line.messages.reverse()) {
			const {at, own, text, entry} = one;
			const isOld = entry && at < model.since && byKey.get(keyOf(one))?.at !== at, key = isOld ? `e${entry}` : keyOf(one);
			const old = byKey.get(key) ?? messages.findLast((it) => (isOld || own && it.state === "unknown")
				&& it.own == own && it.text === text && Math.abs(it.at - at) < (own ? 9 : 1e-3));
			old ? byKey.set(key, Object.assign(old, {entry})) : muted.has(one.from.user) || add(chat, key, one, next);
			next = byKey.get(key) ?? next;
			if (own) settle(chat, key, {...outcomes(one), state: "sent"});
		}
		chat.isRecent = true;
	},
	sent({to, at, message}, chat, {local, lost}) { chat.byKey.set(ownKey(message), settle(chat, local, {to, at, lost, state: "sent"})); },
	waiting(line, chat) {
		if (line.waiting) return model.waits = line.waiting;
		settle(chat, ownKey(line.message)).waiting.add(line.user);
		count();
	},
	delivered(line, chat) {
		settle(chat, keyOfOutcome(line, chat), {}, line.user).delivered.add(line.user);
		if (model.waits.length) count();
	},
	failed(line, chat) {
		const {user, why} = line, {failed, lost} = settle(chat, keyOfOutcome(line, chat), {}, user);
		if (model.waits.length) count();
		failed.set(user, why);
		if (lost) remark(model.open ?? chat, {text: lost});
	},
	error({text: error}, chat, {local}) { if (chat && local) settle(chat, local, {error, state: "error"}); },
	sightings({instance, found}, chat) { chat.sightings = {isOff: !instance, isUnanswered: found.some(({self, linked}) => !self && !linked)}; },
	notice(line) {
		const {code, user, known, chat, invitation, key} = line, by = known ? "known" : "text";
		if (/invited|newcomer/.test(code)) return muted.has(user) || invitations.set(invitation ?? chat + key, line);
		if (invitation) return invitations.delete(invitation);
		if (code === "moved") return requests.who({chat}, moved(line, chatOf(chat)));
		const isNew = (one) => /^discovery/.test(code) || !has(one, line, by);
		// What stands comes before the chats. That of a port is for whoever chose the port.
		if (/^reachable/.test(code)) return;
		if (!chat && !user && ![...chats.values()].some(({isJoined}) => isJoined)) model.notices.push(line);
		for (const one of code === "open-chat" ? [] : chats.values()) {
			if ((chat ? chat === one.name : !user || [user, known].some((id) => one.people.has(id))) && isNew(one)) remark(one, line);
		}
	},
	who({peers}, chat) { for (const one of peers) meet(one, chat); },
	ok({chat: name, peers = [], invite, with: partner, owner, at}, chat, request) {
		if (request.do === "leave") chats.delete(request.chat);
		if (request.do === "leave" && !model.open) hooks.closeChat();
		if (!/join|talk|accept/.test(request.do)) return;
		const joined = Object.assign(chatOf(name), {isJoined: true, secret: !!(invite ?? partner), with: partner, owner});
		for (const one of peers) meet({at, ...one}, joined);
		for (const line of model.notices) if (!has(joined, line)) remark(joined, line);
	},
	"inkling-web"({state, drafts, places, choices, lobby, proposal, shown, text, starts, name, found, icon}) {
		if (/open|icon/.test(state)) Object.assign(model, {icon, iconFault: text});
		if (state === "open") {
			Object.assign(model, {lobby: lobby ?? "lobby", proposal, last: shown});
			Object.assign(model, {drafts: map(drafts), places: map(places), choices: map(choices)});
		}
		if (state === "examined" && chats.has(name)) Object.assign(chats.get(name), {isExamining: false, found: parse(found)});
		if (/lost|back/.test(state)) disconnect();
		if (state === "lost") model.lost = {text, starts};
		hooks.showBanner(state === "reused" ? ["Somebody tried this page's old address and was refused."] : undefined);
	},
};
