// What a chat keeps and what waits: the dialogs of a chat's options, of waiting messages and of blocked people.

import {confirm, isDone, open} from "./dialog.js";
import {$, bdi, el, on, sync, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {decide, isHere, model, sorted} from "./model.js";
import {ago, groups, isolate, label, plain} from "./text.js";

let blocked = [];

const texts = (count) => count === 1 ? "1 message waits" : `${count} messages wait`;

export function render() {
	const {chats, waits, open, self} = model;
	$("waits").hidden = !waits.length;
	write("waits-words", texts(waits.length));
	sync($("waiting"), waits.map(({entry, chat, user, name, text, at}) => {
		const when = ago(at), whom = label({namesakes: [], user, name, ...chats.get(chat)?.people.get(user)});
		return [entry, when + whom, () => el("li", bdi(plain(text, 200), "p"),
			el("small", "For ", bdi(whom), " in ", bdi(plain(chat)), `, written ${when} `),
			el("button", () => giveUp("waiting", {entry}), "Give up"))];
	}));
	write("waiting-none", waits.length ? "They go out when these people are back, while Inkling runs here. After 7 days Inkling gives them up." : "No message waits.");
	$("forget-all").hidden = waits.length < 2;
	sync($("blocked"), blocked.map((one) => [one.key, "", () => el("li", bdi(label({...one, name: one.name ?? one.names?.[0]})),
		el("small", ` ${groups(one.user)} `), el("button", () => unblock(one), "Unblock"))]));
	write("blocked-none", blocked.length ? "You and these people see nothing of each other." : "You have blocked nobody.");
	if (!open) return;
	const {name, secret, with: partner, owner, history, hold} = open, isFree = secret && !partner && !owner;
	write("options-title", plain(name));
	write("options-about", !secret ? "Open: everybody on this network can join and read along. Its messages are not kept."
		: partner ? "Private: only you two can join and read along."
		: `Private: only people with its invite can read along. ${owner === self.key ? "You own it: you can remove people, or hand it over."
			: isFree ? "It has no owner, so nobody can remove people."
			: `Its owner is ${[...open.people.values()].find(({key}) => key === owner)?.label ?? "somebody whom you have not met"}.`}`);
	$("history-kind").hidden = !secret;
	$("history").checked = !!history;
	$("hold").checked = !!hold;
	$("own").hidden = !isFree;
}

async function giveUp(dialog, what) {
	if (isDone(dialog, await requests.forget(what))) requests.waiting();
}

async function showBlocked() {
	const {people, error} = await requests.people({blocked: true});
	isDone("blocked", {error});
	blocked = people ?? [];
	render();
	if (!$("dialog-blocked").open) open("blocked");
}

async function unblock({key}) {
	if (!isDone("blocked", await requests.unblock({key}))) return;
	decide(key, {blocked: false});
	hooks.render();
	showBlocked();
}

async function change(request, isOn) {
	isDone("options", await request(model.open.name, isOn));
	await requests.status();
	hooks.render(render());
}

function showWaiting() {
	requests.waiting();
	open("waiting");
}

on({
	waits: showWaiting,
	"options-waiting": showWaiting,
	"show-blocked": showBlocked,
	"forget-all": async () => await confirm("Give up all messages that wait? Nobody gets them any more.", "Give up all") && giveUp("waiting", {}),
	async options() {
		await requests.status();
		render();
		open("options");
	},
	async history() {
		const {checked} = $("history");
		const isSure = checked || await confirm(`Remove the kept messages of ${isolate(plain(model.open.name))} from this computer, and keep none from now on?`, "Remove");
		isSure ? change(requests.history, checked) : render();
	},
	async hold() {
		await requests.waiting();
		const {checked} = $("hold"), waits = model.waits.filter(({chat}) => chat === model.open.name).length;
		const isSure = checked || !waits || await confirm(`${texts(waits)} in this chat. Give up?`, "Give up");
		isSure ? change(requests.hold, checked) : render();
	},
	async own() {
		const {open} = model, people = sorted(open).filter(isHere);
		let name = `${open.name} 2`;
		for (let number = 3; model.chats.has(name); number++) name = `${open.name} ${number}`;
		const text = `This makes the private chat ${isolate(plain(name))}, which you own, and invites ${people.length ? "these people" : "nobody yet"}. ${isolate(plain(open.name))} stays as it is.`;
		const rows = people.map((one) => el("li", bdi(one.label), one.verified ? "" : ` (not verified, ${groups(one.user)})`));
		if (!await confirm(text, "Make it", ...rows)) return;
		const {chat, error} = await hooks.make(name);
		if (!isDone("options", {error})) return;
		$("dialog-options").close();
		for (const {key, label} of people) requests.invite({chat, key}, {lost: `The invitation to ${plain(chat)} may not have reached ${label}.`});
		hooks.enter(chat);
	},
});
