// Chats, people, header, who types, title.

import {$, avatar, bdi, dots, el, icon, shield, sync, unseen, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {model, present, sorted, typists} from "./model.js";
import {deed, here, isolate, label, lookalike, plain, presence, typing} from "./text.js";

let isQuiet;

$("typing").prepend(dots());

export function render() {
	const {chats, invitations, open, self, isReady} = model;
	const all = [...chats.values()];
	sync($("chats"), all.map(chatRow));
	sync($("people"), open ? sorted(open).map(personRow) : []);
	write("you-name", label(self));
	write("you-state", !isReady ? "Not connected" : !all.length ? "In no chat yet" : self.away ? "Away" : "Active");
	$("away").checked = self.asked;
	$("chat").hidden = $("people-pane").hidden = !open;
	$("welcome").hidden = open;
	$("send").disabled = !isReady;
	const unread = all.reduce((sum, {unread}) => sum + unread, invitations.size);
	document.title = `${unread ? `(${unread}) ` : ""}${open ? `${isolate(plain(open.name))} – ` : ""}Inkling`;
	if (open) header(open);
	showTyping();
}

export function showTyping() {
	const text = $("typing-text");
	// Names get shorter, so that the verb shows.
	for (const longest of [15, 9, 5, 2]) {
		write("typing-text", model.open ? typingText(model.open, longest) : "");
		if (text.scrollWidth <= text.clientWidth) break;
	}
	if (!isQuiet) announce();
}

function announce() {
	const text = $("typing-text").textContent;
	isQuiet = text !== $("announce").textContent;
	write("announce", text);
	if (isQuiet) setTimeout(announce, 2000);
}

const typingText = (chat, longest) => typing(typists(chat).map(({label}) => label), longest);

const row = (kind, attributes, act, picture, name, marks, below, badge) => el(kind, el("button.wide", attributes, act, picture,
	el("span.two", el("span.line", bdi(name, "bdi.name"), marks), below), badge));

function chatRow(chat) {
	const {name, unread, secret, messages} = chat, last = messages.at(-1);
	const isCurrent = name === model.current, who = typists(chat), types = who[1] ? `${who.length} people are typing` : typingText(chat, 9);
	const start = last?.text?.slice(0, 200), action = deed(start), text = plain(action ?? start, 80);
	const said = last && !last.remark ? action ? `${isolate(last.from.label)} ${text}` : `${isolate(last.own ? "You" : last.from.label)}: ${text}`
		: here(present(chat), "Nobody else is here");
	return [name, [unread, secret, isCurrent, types, said].join(), () => row("li", {"data-chat": name, "aria-current": isCurrent},
		() => hooks.enter(name), avatar(name), plain(name), [secret && icon("lock", "private")],
		types ? el("small.line.types", dots(), bdi(types)) : bdi(said, "small"),
		unread && el("span.badge", `${unread}`, unseen(" unread")))];
}

function personRow(person) {
	const {user, label, verified} = person, state = presence(person, model.muted.has(user)), warning = lookalike(person);
	const types = typists(model.open).some((one) => one.user === user);
	return [user, [label, state, verified, warning, types].join(), () => row(`li.${person.presence}`, {"data-user": user},
		() => hooks.showPerson(user), avatar(label, el("span.dot")), label, [shield(verified), types && [dots(), unseen("typing")]].flat(),
		[el("small", state), warning && el("small.line.bad", icon("warning"), bdi(warning))])];
}

function header(chat) {
	const {secret, with: partner} = chat, name = plain(chat.name);
	write("title", name);
	write("subtitle", `${partner ? "Only you two can join" : secret ? "Private" : "Open to this network"} · ${here(present(chat), "nobody else is here")}`);
	$("invite-open").hidden = partner;
	const gone = chat.people.size - present(chat);
	write("people-count", chat.people.size ? `${present(chat)} here${gone ? `, ${gone} offline` : ""}` : "");
	empty(chat);
}

/** What an empty conversation says: who can come, and what becomes of a message. */
function empty(chat) {
	const {secret, with: partner, looking, messages, sightings, hold, isExamining, found} = chat, count = present(chat), isAlone = !count && !looking;
	$("empty").hidden = messages.some((one) => !one.remark);
	write("empty-text", [
		count ? "No messages yet." : looking ? "Looking for others…" : "Nobody else is here yet.",
		partner ? "The other one joins by: Accept, or Talk alone."
			: secret ? "Others join with this chat's invite." : `Others on this network join by exactly this name: ${isolate(plain(chat.name))}.`,
		count ? "" : !secret && !hold ? "A message reaches only people who are here."
			: !chat.people.size ? "A message reaches nobody before the first one has joined."
			: hold === false ? "Messages don't wait in this chat, so nobody gets what you write now."
			: "What you write waits on this computer until they are back, for up to 7 days.",
		!isAlone || !sightings ? ""
			: sightings.isOff ? "Inkling does not look for other computers, and they can't find this one."
			: sightings.isUnanswered ? "Another computer has opened this chat, but it does not answer."
			: "No other computer with this chat shows up. Is it open there, in the same network?",
	].join("\n"));
	$("examine").hidden = !isAlone || !sightings;
	$("examine").disabled = isExamining;
	write("examine", isExamining ? "Looking for the reason…" : "Find out why");
	const {ok, summary, checks = []} = found ?? {}, bad = checks.find(({status}) => status === "problem");
	write("empty-found", !found || isExamining || !isAlone ? "" : ok
		? "This computer is in order. Let the other person open exactly this chat in the same network, and press Find out why there too."
		: summary ? `To tell the other person: ${plain(summary, 400)}` : "The reason could not be found out.");
	write("empty-mend", !isExamining && isAlone && bad?.mend ? `The person who looks after this computer can mend it with: ${plain(bad.mend, 300)}` : "");
}
