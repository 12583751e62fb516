// The dialogs: join, the user, a person. The cards of invitations and newcomers.

import {confirm, finish, isDone, noted, open, say} from "./dialog.js";
import {$, bdi, el, icon, on, shield, sync, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {sendFrom, showInvite} from "./invite.js";
import {requests} from "./lines.js";
import {decide, isHere, model, sorted} from "./model.js";
import {MARKS} from "./names.js";
import {groups, isolate, label, lookalike, plain, presence} from "./text.js";

const OPEN = " Anybody on this network can read the open chat.";
const OWN = "Your own name for this chat";
let joining, user;

export const render = () => sync($("invitations"), [...model.invitations].map(card));

function showJoin(title, ...given) {
	const [request, member] = joining = given, isInvite = member === "invite", isNew = request === requests.join && member === "chat";
	write("join-title", title);
	$("join-form").reset();
	$("join-kind").hidden = !isNew;
	$("join-pick").hidden = !isInvite;
	$("join-text").placeholder = isInvite ? "inkling:…" : "";
	explain();
	open("join");
}

/** Says who can read along. */
function explain() {
	const [request, member] = joining;
	write("join-words", request !== requests.join ? "" : member !== "chat" || $("join-private").checked
		? `Only people ${member === "chat" ? "whom you invite" : "with this invite"} can read along.`
		: "Everybody on this network who knows the name can join and read along.");
}

/** Begins a private chat for a few, an open chat, or a chat by its invite. */
function begin(kind) {
	if (kind === "invite") return showJoin("Your invite", requests.join, "invite");
	showJoin(kind === "few" ? "Name of the chat for a few" : kind ? "Name of the open chat" : "Name of the new chat", requests.join, "chat");
	$("join-private").checked = kind === "few";
	explain();
}

/** Joins an open chat by a press. An error shows in the dialog. */
async function join(name) {
	if (await isRefused("join", requests.join, {chat: name}) !== true) return;
	const note = noted("join");
	begin("open");
	$("join-text").value = name;
	say("join", note);
}

/** Joins a new private chat of the user's own. */
function make(name, secret, members) {
	// The last letter has three bits.
	const letter = (byte, index) => "abcdefghijklmnopqrstuvwxyz234567"[byte & (index < 25 ? 31 : 28)];
	const random = [...crypto.getRandomValues(new Uint8Array(26))].map(letter).join("");
	return requests.join({invite: `inkling:${encodeURIComponent(name)}${secret ?? `#${random}@${model.self.key}`}`, keep: true, ...members});
}

/** Joins a chat, or returns "no" after a no of the user, and true after an error. */
async function isRefused(dialog, request, members) {
	const answer = await request({...members, keep: true}), {doubt, error} = answer;
	// The advice is for commands.
	if (doubt) return await confirm(`${plain(error.split(/\. (?:To|Repair) /)[0], 400)}.${doubt === "open" ? OPEN : ""}`, "Join")
		? isRefused(dialog, request, {...members, confirm: true}) : "no";
	return !finish(dialog, answer) || hooks.enter(answer.chat);
}

async function accept(invitation) {
	if (await isRefused("join", requests.accept, {invitation})) showJoin(OWN, requests.accept, "chat", {invitation});
}

const mark = ({user, verified}) => shield(verified) || ` (not verified, ${groups(user)})`;

function card([id, line]) {
	const {invitation, owner, to, user, chat, key} = line, note = el("p.bad", {role: "alert"});
	const one = {...model.chats.get(chat)?.people.get(user), ...line}, name = label(one), warning = lookalike(one);
	const dismiss = () => hooks.render(model.invitations.delete(id));
	const admit = async () => {
		const {error} = await requests.admit({chat, key});
		error ? note.textContent = plain(error, 400) : dismiss();
	};
	const [words, yes, act, no, end] = invitation ? [
		[mark(one), to ? [" invites you to ", bdi(plain(to.replace(MARKS, ""))), `, a private chat${owner ? " of their own" : ""}.`] : " asks to talk with you alone."],
		"Accept", () => accept(invitation), "Decline", () => requests.decline({invitation}),
	] : [
		[mark(one), " looks for ", bdi(plain(chat)), ", which has moved without them."],
		"Let them follow", admit, "Dismiss", dismiss,
	];
	return [id, name + warning, () => el("div.card", el("p", bdi(name), words.flat()),
		warning && el("p.bad", icon("warning"), bdi(warning)), note, el("button.main", act, yes), el("button", end, no))];
}

const isOwn = ({owner}) => owner === model.self.key;

export async function showPerson(next) {
	if (!model.open.people.has(next)) return;
	user = next;
	fill();
	write("own-id", groups(model.self.user));
	write("person-id", groups(user));
	$("fingerprint").replaceChildren();
	$("talk").hidden = model.open.with === shown().key;
	$("remove").hidden = $("hand-over").hidden = !isOwn(model.open);
	const chats = [...model.chats.values()].filter((chat) => chat.secret && !chat.with && (!chat.owner || isOwn(chat)) && !isHere(chat.people.get(user)));
	$("invite-to").hidden = !chats.length;
	$("invite-chat").replaceChildren(...chats.map(({name}) => el("option", {value: name}, plain(name))));
	open("person");
	const answer = await requests.fingerprint({key: shown().key});
	if (isDone("person", answer) && answer.key === shown()?.key) $("fingerprint").append(...answer.groups.map((digits) => el("li", digits)));
}

const shown = () => model.open.people.get(user);

function fill() {
	const {label, verified, blocked} = shown(), warning = lookalike(shown());
	write("person-name", label);
	write("person-state", `${verified ? "Verified" : "Not verified"} · ${presence(shown(), model.muted.has(user))}`);
	write("person-warning", warning && `${warning}. Share nothing secret until the digits match.`);
	write("mute", model.muted.has(user) ? "Unmute" : "Mute");
	write("block", blocked ? "Unblock" : "Block");
	hooks.render();
}

async function settle(request, change, text) {
	const {key} = shown();
	if (!isDone("person", await request({key}))) return;
	decide(key, change);
	fill();
	say("person", text);
}

async function leave() {
	const {name, secret, with: partner} = model.open;
	const back = secret && !partner ? " To come back, you need its invite." : "";
	return await confirm(`Leave ${isolate(plain(name))}?${back}`, "Leave") && requests.leave({chat: name});
}

/** Moves the chat with people to a new secret, after a question. */
async function move(people, text, yes, members) {
	const {name} = model.open, keys = people.map((one) => one.key);
	const rows = people.map((one) => el("li", bdi(one.label), mark(one)));
	if (!await confirm(`${isolate(plain(name))} moves to a new secret, ${text}`, yes, ...rows)) return;
	finish("person", await requests.move({chat: name, keys, ...members}));
}

Object.assign(hooks, {begin, join, make});
$("join-private").onchange = explain;
$("join-file").onchange = async () => {
	const [file] = $("join-file").files;
	// An invite is short.
	if (!file || file.size > 4096) return say("join", file ? "This file is no invite." : "");
	$("join-text").value = (await file.text()).trim();
	say("join", "");
	$("join-text").focus();
};
on({
	"new-chat": () => begin(),
	"join-invite": () => begin("invite"),
	async "join-form"() {
		const [request, member, members] = joining, text = $("join-text").value.trim().normalize();
		const isMade = request === requests.join && member === "chat" && $("join-private").checked, own = isMade || members?.secret;
		const refusal = own ? await isRefused("join", ({name, ...more}) => make(name, members?.secret, more), {name: text})
			: await isRefused("join", request, {...members, [member]: text});
		if (!refusal && isMade) showInvite();
		if (refusal === "no" && member === "invite") showJoin(OWN, requests.join, "", {secret: text.slice(text.indexOf("#"))});
	},
	leave,
	"options-leave": async () => await leave() && $("dialog-options").close(),
	you() {
		$("name").value = model.self.name;
		write("you-id", groups(model.self.user));
		open("name");
	},
	async "name-form"() {
		const name = $("name").value.trim().normalize(), shown = label({...model.self, name});
		if (!isDone("name", await requests.nick({name}))) return;
		requests.named(model.proposal = null);
		shown === name ? $("dialog-name").close() : say("name", `Others see you as ${isolate(shown)}.`);
	},
	away: async () => hooks.render(isDone("name", await ($("away").checked ? requests.away : requests.back)())),
	match: () => settle(requests.verify, {verified: true}),
	"no-match": () => settle(requests.unverify, {verified: false}, "Somebody may pretend to be this person."),
	talk: () => isRefused("person", requests.talk, {key: shown().key}),
	"invite-send": () => sendFrom("person", $("invite-chat").value, shown()),
	remove() {
		const {key, label} = shown(), others = sorted(model.open).filter((one) => one.key !== key);
		return move(others, `with you ${others.length ? "and these people" : "alone"}. ${isolate(label)} stays behind, and keeps what was written so far.`,
			`Remove ${label}`, {removed: [key]});
	},
	"hand-over"() {
		const {key, label} = shown();
		return move(sorted(model.open), `which belongs to ${isolate(label)}: only the owner can invite and remove people. You and these people move along.`,
			"Hand over", {owner: key});
	},
	mute() {
		if (!model.muted.delete(user)) model.muted.add(user);
		fill();
	},
	async block() {
		const {label, verified, blocked} = shown();
		const whom = `${isolate(label)}${verified ? ", whom you verified" : ""}`;
		if (blocked || await confirm(`Block ${whom}? Until you unblock them, you see nothing of each other.`, "Block"))
			settle(blocked ? requests.unblock : requests.block, {blocked: !blocked});
	},
});
