// The dialogs: join, invite, the user, a person, and questions.

import { $, el, svg, write } from "./dom.js";
import { decide, model } from "./model.js";
import { qr } from "./qr.js";
import { groups, isolate, plain } from "./text.js";
import { lookalike, presence } from "./view.js";

const ANYBODY = "Anybody on this network can read the open chat.";
/** The questions about names that stand for two chats. */
const QUESTIONS = {
	"private-name": `A private chat of yours had this or a similar name: to enter it, use its invite. ${ANYBODY}`,
	"names-unknown": `Inkling can't read its list of private names, which may have this one. ${ANYBODY}`,
	"open-name": "An open chat of yours, or the default chat, has this name. You could take one for the other.",
};
/** The white border of a QR code, in squares. */
const QUIET = 4;
/** `ask`, `enter` and `render` of the page. */
let page, user;

/** Returns 16 random bytes in base32 (W-7). */
function secret() {
	const bits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(2).padStart(8, "0")).join("");
	return `${bits}00`.replace(/.{5}/g, (bits) => "abcdefghijklmnopqrstuvwxyz234567"[parseInt(bits, 2)]);
}

const open = (name) => $(`dialog-${name}`).showModal();
const close = (name) => $(`dialog-${name}`).close();
const say = (name, text) => write(`${name}-error`, text);
/** Shows an error beside its field. Returns whether the answer is none. */
function isDone(name, { on, text }) {
	say(name, on === "error" ? plain(text, 400) : "");
	return on !== "error";
}

export function start(services) {
	page = services;
	for (const button of document.querySelectorAll(".close")) button.onclick = () => button.closest("dialog").close();
	const acts = {
		"new-chat": () => showJoin("New chat", false), "join-invite": () => showJoin("Join by invite", true),
		"join-form": submitJoin, you: showUser, "name-form": rename,
		away: () => page.ask($("away").checked ? "away" : "back"),
		"invite-open": invite, "invite-copy": copy, "invite-show": showCode, leave,
		match: () => verify(true), "no-match": () => verify(false), mute, block,
	};
	for (const id in acts) $(id)[/form/.test(id) ? "onsubmit" : "onclick"] = (event) => {
		if (event.type === "submit") event.preventDefault();
		acts[id]();
	};
	$("people").onclick = ({ target }) => showPerson(target.closest("[data-user]")?.dataset.user);
}

/** Asks the user, and resolves to whether the answer is yes. */
function confirm(text, yes) {
	const dialog = $("dialog-ask");
	write("ask-text", text);
	write("ask-yes", yes);
	dialog.returnValue = "";
	dialog.showModal();
	$("ask-yes").onclick = () => dialog.close("yes");
	return new Promise((resolve) => { dialog.onclose = () => resolve(dialog.returnValue === "yes"); });
}

function showJoin(title, isInvite) {
	write("join-title", title);
	write("join-label", isInvite ? "Invite" : "Name");
	$("join-kind").hidden = isInvite;
	say("join");
	open("join");
}

async function submitJoin() {
	const text = $("join-text").value.trim().normalize();
	const isNew = $("join-private").checked && !$("join-kind").hidden;
	const chat = $("join-kind").hidden ? { invite: text } : isNew ? { chat: text, secret: secret() } : { chat: text };
	const members = { ...chat, open: false, keep: true };
	let answer = await page.ask("join", members);
	const question = QUESTIONS[answer.code];
	if (question) {
		if (!await confirm(question, answer.code === "open-name" ? "Join the private chat" : "Join the open chat")) return;
		answer = await page.ask("join", { ...members, confirm: true });
	}
	if (!isDone("join", answer)) return;
	close("join");
	$("join-form").reset();
	await page.enter(answer.chat);
	if (isNew) invite();
}

async function invite() {
	const { name } = model.open;
	const { invite } = await page.ask("invite", { chat: name });
	write("invite-how", invite ? "Each person with this invite can join and read. Pass it on in a way that you trust."
		: "Anybody on this network joins this open chat by its name.");
	$("invite-text").value = invite ?? name;
	$("invite-show").hidden = !invite;
	$("invite-qr").replaceChildren();
	say("invite");
	open("invite");
}

async function copy() {
	$("invite-text").select();
	await navigator.clipboard.writeText($("invite-text").value).then(
		() => say("invite", "Copied. Other programs can read the clipboard."),
		() => say("invite", "The text is selected: copy it with Ctrl+C."));
}

function showCode() {
	const rows = qr($("invite-text").value);
	const square = (isDark, x, y) => isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : "";
	const d = rows.map((row, y) => row.map((isDark, x) => square(isDark, x, y)).join("")).join("");
	$("invite-qr").replaceChildren(svg(rows.length + 2 * QUIET, "QR code of the invite", "path", { d }));
}

async function leave() {
	const { name, isSecret } = model.open;
	const back = isSecret ? "Only its invite brings you back: copy it first." : "Its name brings you back.";
	if (await confirm(`Leave ${isolate(plain(name, 64))}? ${back}`, "Leave")) page.ask("leave", { chat: name });
}

function showUser() {
	$("name").value = model.self.name;
	write("you-id", groups(model.self.user));
	say("name");
	open("name");
}

async function rename() {
	if (isDone("name", await page.ask("nick", { name: $("name").value.trim().normalize() }))) close("name");
}

/** Shows a person of the open chat, and what to compare. */
export async function showPerson(next) {
	if (!model.open.people.has(next)) return;
	user = next;
	fill();
	write("own-id", groups(model.self.user));
	write("person-id", groups(user));
	say("person");
	$("fingerprint").replaceChildren();
	open("person");
	const answer = await page.ask("fingerprint", { key: shown().key });
	if (user === next && isDone("person", answer)) $("fingerprint").replaceChildren(...answer.groups.map((digits) => el("li", digits)));
}

const shown = () => model.open.people.get(user);

function fill() {
	const { label, verified, blocked } = shown();
	const warning = lookalike(shown());
	write("person-name", label);
	write("person-state", `${verified ? "Verified" : "Not verified"} · ${presence(shown())}`);
	write("person-warning", warning && `${warning}. Share nothing secret until the digits match.`);
	write("mute", model.muted.has(user) ? "Unmute" : "Mute");
	write("block", blocked ? "Unblock" : "Block");
}

async function verify(isRight) {
	if (await settle(isRight ? "verify" : "unverify", shown().key) && !isRight) {
		say("person", "Somebody may pretend to be this person. Share nothing secret, and ask them in another way.");
	}
}

function mute() {
	const { muted } = model;
	const count = muted.get(user);
	if (!muted.delete(user)) muted.set(user, 0);
	fill();
	say("person", count === undefined ? "Muted in this tab. They don't notice." : `${count} messages came meanwhile, and are not shown.`);
	page.render();
}

async function block() {
	const { key, label, verified, blocked } = shown();
	const question = `Block ${isolate(label)}${verified ? ", whom you verified" : ""}? In all chats and for good, you see nothing of each other.`;
	if (blocked || await confirm(question, "Block")) settle(blocked ? "unblock" : "block", key);
}

/** Has the daemon store what the user decided about a key, and returns whether it did. */
async function settle(decision, key) {
	const isStored = isDone("person", await page.ask(decision, { key }));
	if (isStored) decide(key, { [/verify/.test(decision) ? "verified" : "blocked"]: !/^un/.test(decision) });
	fill();
	page.render();
	return isStored;
}
