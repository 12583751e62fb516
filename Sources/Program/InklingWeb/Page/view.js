// Chats, people, header, who types, title.

import {$, avatar, bdi, dots, el, icon, shield, sync, unseen, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {model, present, sorted, typists} from "./model.js";
import {isolate, label, lookalike, plain, presence, typing} from "./text.js";

let isQuiet;

const here = (count, nobody) => count > 1 ? `${count} people are here` : count ? "1 person is here" : nobody;

$("typing").prepend(dots());

export function render() {
	const {chats, invitations, open, self, isReady} = model;
	const all = [...chats.values()];
	sync($("chats"), all.map(chatRow));
	sync($("people"), open ? sorted(open).map(personRow) : []);
	write("you-name", label(self));
	write("you-state", isReady ? self.away ? "Away" : "Active" : "Not connected");
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
	const said = last && !last.remark ? `${isolate(last.own ? "You" : last.from.label)}: ${plain(last.text.slice(0, 200), 80)}`
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
	const {secret, with: partner, looking, messages, sightings} = chat, count = present(chat), name = plain(chat.name);
	write("title", name);
	const [access, way] = partner ? ["Only you two can join", "The other one joins by: Accept, or Talk alone."]
		: secret ? ["Private", "Others join with this chat's invite."]
		: ["Open to this network", `Others on this network join by the name ${isolate(name)}.`];
	write("subtitle", `${access} · ${here(count, "nobody else is here")}`);
	$("invite-open").hidden = partner;
	$("empty").hidden = messages.some((one) => !one.remark);
	write("empty", [
		count ? "No messages yet." : looking ? "Looking for others…" : "Nobody else is here yet.",
		way,
		count || looking || !sightings ? ""
			: sightings.isOff ? "Discovery is off: others can't find this computer."
			: `Discovery finds ${sightings.isUnanswered ? "a computer that does not answer" : "nobody"}. For help, run: inkling doctor`,
	].join("\n"));
}
