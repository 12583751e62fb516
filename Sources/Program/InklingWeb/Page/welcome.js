// The first minutes: the user's name, and the ways to others.

import {$, on, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {everybody, isHere, model, present} from "./model.js";
import {here, isolate, plain} from "./text.js";

/** Whether the user still has to choose a name. The computer's name for the user is the proposal. */
const asks = () => model.isReady && model.proposal && model.proposal === model.self.name;
let wasAsking;

/** Who is there in the user's chats. Other chats keep their people to themselves. */
function around() {
	const all = [...new Map(everybody().filter(isHere).map((one) => [one.key, isolate(one.label)])).values()];
	if (all.length > 4) all.splice(3, all.length, `${all.length - 3} more`);
	return all.length ? `In your chats now: ${all.join(", ")}.` : "";
}

export function render() {
	const {chats, lobby, isReady} = model, isAsking = asks(), name = plain(lobby), known = chats.get(lobby);
	document.body.classList.toggle("bare", !chats.size);
	$("first-form").hidden = !isAsking;
	$("choices").hidden = isAsking || !isReady;
	write("welcome-title", isAsking || !chats.size ? "Welcome to Inkling" : "Choose a chat, or begin a new one.");
	write("welcome-words", !isReady ? "Connecting…" : isAsking || !chats.size
		? "Here you talk with people on the same network, without an account and without a server." : around());
	if (isAsking && !wasAsking) {
		$("first-name").value = model.self.name;
		$("first-name").select();
		$("first-name").focus();
	}
	wasAsking = isAsking;
	write("lobby-title", `${known ? "Open" : "Join"} ${isolate(name)}`);
	write("lobby-words", `Everybody on this network can join and read along. ${known
		? `${here(present(known), "Nobody else is there now", "there")}.` : "You see who is there as soon as you join."}`);
}

on({
	async "first-form"() {
		const {error} = await requests.nick({name: $("first-name").value.trim().normalize()});
		write("first-note", plain(error, 300));
		if (error) return;
		requests.named(model.proposal = null);
		render();
		$("choose-lobby").focus();
	},
	"choose-lobby": () => hooks.join(model.lobby),
	"choose-few": () => hooks.begin("few"),
	"choose-invite": () => hooks.begin("invite"),
	"choose-open": () => hooks.begin("open"),
});
