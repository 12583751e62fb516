// The dialogs: join, invite, the user, a person, questions.

import { $, el, on, set, svg, write } from "./dom.js";
import { ask, enter, render } from "./main.js";
import { decide, model } from "./model.js";
import { qr } from "./qr.js";
import { groups, isolate, plain } from "./text.js";
import { lookalike, presence } from "./view.js";

const OPEN = "A private chat of yours may have such a name. Anybody on this network can read the open chat.";
// names that stand for two chats.
const QUESTIONS = {
	"private-name": OPEN, "names-unknown": OPEN,
	"open-name": "An open chat of yours has such a name. You could take one for the other.",
};
let user;

const open = (name) => {
	say(name);
	$(`dialog-${name}`).showModal();
};

function say(name, text, isBad = false) {
	write(`${name}-note`, text);
	$(`${name}-note`).classList.toggle("bad", isBad);
}

function isDone(name, { on, text }) {
	const isError = on === "error";
	say(name, isError ? plain(text, 400) : "", isError);
	return !isError;
}

const finish = (name, answer) => isDone(name, answer) && !$(`dialog-${name}`).close();

function confirm(text, yes) {
	const dialog = $("dialog-ask");
	write("ask-text", text);
	write("ask-yes", yes);
	dialog.returnValue = "";
	dialog.showModal();
	return new Promise((done) => { dialog.onclose = () => done(dialog.returnValue === "yes"); });
}

function showJoin({ currentTarget: { id, title } }) {
	const isInvite = id === "join-invite";
	write("join-title", title);
	write("join-label", isInvite ? "Invite" : "Name");
	$("join-kind").hidden = isInvite;
	open("join");
}

function secret() {
	// Of 128 bits, three are in the last letter.
	const letter = (byte, index) => "abcdefghijklmnopqrstuvwxyz234567"[byte & (index < 25 ? 31 : 28)];
	return [...crypto.getRandomValues(new Uint8Array(26))].map(letter).join("");
}

async function join() {
	const text = $("join-text").value.trim().normalize(), isInvite = $("join-kind").hidden;
	const members = { [isInvite ? "invite" : "chat"]: text, open: false, keep: true };
	if (!isInvite && $("join-private").checked) members.secret = secret();
	let answer = await ask("join", members);
	const question = QUESTIONS[answer.code];
	if (question) {
		if (!await confirm(question, "Join")) return;
		answer = await ask("join", { ...members, confirm: true });
	}
	if (!finish("join", answer)) return;
	$("join-form").reset();
	await enter(answer.chat);
	if (members.secret) invite();
}

async function invite() {
	const { name, secret } = model.open;
	const { invite } = await ask("invite", { chat: name });
	if (secret && !invite) return;
	write("invite-how", invite ? "Everybody with this invite can join and read."
		: "Anybody on this network joins this open chat by its name.");
	$("invite-text").value = invite ?? name;
	$("invite-show").hidden = !invite;
	$("invite-qr").replaceChildren();
	open("invite");
}

function copy() {
	navigator.clipboard.writeText($("invite-text").value).then(() => say("invite", "Copied."));
}

function showCode() {
	const rows = qr($("invite-text").value);
	const line = (row, y) => row.map((isDark, x) => isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : "").join("");
	$("invite-qr").replaceChildren(svg(rows.length + 8, "QR code of the invite", "path", { d: rows.map(line).join("") }));
}

async function leave() {
	const { name, secret } = model.open;
	const back = secret ? " To come back, you need its invite." : "";
	if (await confirm(`Leave ${isolate(plain(name, 64))}?${back}`, "Leave")) ask("leave", { chat: name });
}

function showUser() {
	$("name").value = model.self.name;
	write("you-id", groups(model.self.user));
	open("name");
}

async function rename() {
	const name = $("name").value.trim().normalize();
	finish("name", await ask("nick", { name }));
}

export async function showPerson(next) {
	if (!model.open.people.has(next)) return;
	user = next;
	fill();
	write("own-id", groups(model.self.user));
	write("person-id", groups(user));
	$("fingerprint").replaceChildren();
	open("person");
	const answer = await ask("fingerprint", { key: shown().key });
	if (isDone("person", answer) && answer.key === shown()?.key) $("fingerprint").append(...answer.groups.map((digits) => el("li", digits)));
}

const shown = () => model.open.people.get(user);

function fill() {
	const { label, verified, blocked } = shown(), warning = lookalike(shown());
	write("person-name", label);
	write("person-state", `${verified ? "Verified" : "Not verified"} · ${presence(shown())}`);
	write("person-warning", warning && `${warning}. Share nothing secret until the digits match.`);
	write("mute", model.muted.has(user) ? "Unmute" : "Mute");
	write("block", blocked ? "Unblock" : "Block");
	render();
}

async function settle(decision, change, text) {
	const { key } = shown();
	if (!isDone("person", await ask(decision, { key }))) return;
	decide(key, change);
	fill();
	say("person", text, true);
}

function mute() {
	if (!model.muted.delete(user)) model.muted.add(user);
	fill();
}

async function block() {
	const { label, verified, blocked } = shown();
	const whom = `${isolate(label)}${verified ? ", whom you verified" : ""}`;
	if (blocked || await confirm(`Block ${whom}? For good, you see nothing of each other.`, "Block")) {
		settle(blocked ? "unblock" : "block", { blocked: !blocked });
	}
}

for (const dialog of document.querySelectorAll("dialog")) {
	const foot = dialog.querySelector(".foot");
	set(dialog, { "aria-labelledby": dialog.querySelector("h2, p").id });
	foot.before(el("p", { id: dialog.id.replace("dialog-", "") + "-note", role: "alert" }));
	foot.prepend(el("button.close", { type: "button" }, { onclick: () => dialog.close() }, dialog.role ? "Cancel" : "Close"));
}
on({
	"new-chat": showJoin, "join-invite": showJoin, "join-form": join, "invite-open": invite, "invite-copy": copy, "invite-show": showCode, leave, mute, block,
	you: showUser, "name-form": rename, away: async () => render(isDone("name", await ask($("away").checked ? "away" : "back"))),
	people: ({ target }) => showPerson(target.closest("[data-user]")?.dataset.user),
	match: () => settle("verify", { verified: true }),
	"no-match": () => settle("unverify", { verified: false },
		"Somebody may pretend to be this person."),
	"ask-yes": () => $("dialog-ask").close("yes"),
});
