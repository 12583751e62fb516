// The dialogs: join, invite, the user, a person, questions. The cards of invitations and newcomers.

import {$, bdi, el, icon, on, set, shield, svg, sync, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {decide, isHere, model, remark, sorted} from "./model.js";
import {MARKS} from "./names.js";
import {qr} from "./qr.js";
import {groups, isolate, label, lookalike, plain, presence} from "./text.js";

const OPEN = " Anybody on this network can read the open chat.";
const OWN = "Your own name for this chat";
let joining, user;

export const render = () => sync($("invitations"), [...model.invitations].map(card));
const open = (name) => $(`dialog-${name}`).showModal();
const say = (name, text) => write(`${name}-note`, text);
const isDone = (name, {error}) => !say(name, plain(error, 400)) && !error;
const finish = (name, answer) => isDone(name, answer) && !$(`dialog-${name}`).close();

function confirm(text, yes, ...rows) {
	write("ask-text", text);
	write("ask-yes", yes);
	$("ask-list").replaceChildren(...rows);
	open("ask");
	return new Promise((done) => {
		$("dialog-ask").onclose = () => done();
		$("ask-yes").onclick = () => $("dialog-ask").close(done(true));
	});
}

function showJoin(title, ...given) {
	const [request, member] = joining = given;
	write("join-title", title);
	$("join-form").reset();
	$("join-kind").hidden = request !== requests.join || member !== "chat";
	open("join");
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

async function invite() {
	const {name, secret} = model.open;
	const {invite} = await requests.invite({chat: name});
	if (secret && !invite) return;
	write("invite-how", invite ? "Everybody with this invite can join and read."
		: "Anybody on this network can join by its name.");
	$("invite-text").value = invite ?? name;
	$("invite-show").hidden = !invite;
	$("invite-qr").replaceChildren();
	open("invite");
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
	$("remove").hidden = !isOwn(model.open);
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

for (const dialog of document.querySelectorAll("dialog")) {
	const foot = dialog.querySelector(".foot"), name = dialog.id.slice(7);
	set(dialog, {"aria-labelledby": dialog.querySelector("h2, p").id});
	foot.before(el("p.bad", {id: `${name}-note`, role: "alert"}));
	dialog.onclose = () => say(name);
	foot.prepend(el("button.close", {type: "button"}, () => dialog.close(), dialog.role ? "Cancel" : "Close"));
}
on({
	"new-chat": () => showJoin("Name of the new chat", requests.join, "chat"),
	"join-invite": () => showJoin("Invite", requests.join, "invite"),
	async "join-form"() {
		const [request, member, members] = joining, text = $("join-text").value.trim().normalize();
		// The last letter has three bits.
		const letter = (byte, index) => "abcdefghijklmnopqrstuvwxyz234567"[byte & (index < 25 ? 31 : 28)];
		const random = [...crypto.getRandomValues(new Uint8Array(26))].map(letter).join("");
		const secret = members?.secret ?? ($("join-private").checked && `#${random}@${model.self.key}`);
		const own = secret && {invite: `inkling:${encodeURIComponent(text)}${secret}`}, isMade = own && !members;
		const refusal = await isRefused("join", request, own || {...members, [member]: text});
		if (!refusal && isMade) invite();
		if (refusal === "no" && member === "invite") showJoin(OWN, requests.join, "", {secret: text.slice(text.indexOf("#"))});
	},
	"invite-open": invite,
	"invite-copy": () => navigator.clipboard.writeText($("invite-text").value).then(() => say("invite", "Copied.")),
	"invite-show"() {
		const rows = qr($("invite-text").value);
		const line = (row, y) => row.map((isDark, x) => isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : "").join("");
		$("invite-qr").replaceChildren(svg(rows.length + 8, "QR code of the invite", "path", {d: rows.map(line).join("")}));
	},
	async leave() {
		const {name, secret, with: partner} = model.open;
		const back = secret && !partner ? " To come back, you need its invite." : "";
		if (await confirm(`Leave ${isolate(plain(name))}?${back}`, "Leave")) requests.leave({chat: name});
	},
	you() {
		$("name").value = model.self.name;
		write("you-id", groups(model.self.user));
		open("name");
	},
	"name-form": async () => finish("name", await requests.nick({name: $("name").value.trim().normalize()})),
	away: async () => hooks.render(isDone("name", await ($("away").checked ? requests.away : requests.back)())),
	match: () => settle(requests.verify, {verified: true}),
	"no-match": () => settle(requests.unverify, {verified: false}, "Somebody may pretend to be this person."),
	talk: () => isRefused("person", requests.talk, {key: shown().key}),
	async "invite-send"() {
		const {key, label, verified} = shown(), chat = $("invite-chat").value;
		if (!verified && !await confirm(
			`${isolate(label)} is not verified, and whoever gets the invite can join for good. User ID: ${groups(user)}`, "Invite")) return;
		const name = plain(chat), lost = `The invitation to ${name} may not have reached ${label}.`;
		if (!finish("person", await requests.invite({chat, key}, {lost}))) return;
		remark(model.open, {text: `${label} is invited to ${name}.`});
		hooks.enter(model.current);
	},
	async remove() {
		const {name} = model.open, {key, label} = shown();
		const others = sorted(model.open).filter((one) => one.key !== key), keys = others.map((one) => one.key);
		const text = `${isolate(plain(name))} moves to a new secret, with you ${keys.length ? "and these people" : "alone"}. ${isolate(label)} stays behind, and keeps what was written so far.`;
		if (!await confirm(text, `Remove ${label}`, ...others.map((one) => el("li", bdi(one.label), mark(one))))) return;
		finish("person", await requests.move({chat: name, keys, removed: [key]}));
	},
	mute() {
		if (!model.muted.delete(user)) model.muted.add(user);
		fill();
	},
	async block() {
		const {label, verified, blocked} = shown();
		const whom = `${isolate(label)}${verified ? ", whom you verified" : ""}`;
		if (blocked || await confirm(`Block ${whom}? For good, you see nothing of each other.`, "Block"))
			settle(blocked ? requests.unblock : requests.block, {blocked: !blocked});
	},
});
