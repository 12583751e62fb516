// The dialog with a chat's invite: for somebody who is here, as a picture, a file or a text.

import {confirm, finish, isDone, open, say} from "./dialog.js";
import {$, bdi, el, on, save, shield, svg, sync, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {everybody, isHere, model, remark} from "./model.js";
import {qr} from "./qr.js";
import {groups, isolate, plain} from "./text.js";

/** People of other chats who are here, once each. */
function candidates(chat) {
	const isIn = (key) => [...chat.people.values()].some((one) => one.key === key && isHere(one));
	return new Map(everybody().filter((one) => isHere(one) && !one.blocked && !isIn(one.key)).map((one) => [one.key, one]));
}

export async function showInvite() {
	const {name, secret, owner} = model.open;
	const {invite} = await requests.invite({chat: name});
	if (secret && !invite) return;
	write("invite-how", invite ? "Everybody with this invite can join and read along, for good. Pass it on in a way that you trust."
		: "Anybody on this network can join by the name, and read along.");
	$("invite-text").value = invite ?? name;
	$("invite-show").hidden = $("invite-save").hidden = !invite;
	$("invite-qr").replaceChildren();
	const here = invite && (!owner || owner === model.self.key) ? [...candidates(model.open)] : [];
	$("here").hidden = !here.length;
	sync($("invite-here"), here.map(([key, one]) => [key, one.label + one.verified, () => el("li.line", bdi(one.label), shield(one.verified) || "",
		el("button", async () => await sendInvite("invite", name, one) && say("invite", `${one.label} is invited.`), "Invite", el("span.hidden", ` ${one.label}`)))]));
	open("invite");
}

/** Sends an invite to somebody, perhaps after a question. Returns whether it is sent. */
export async function sendInvite(dialog, chat, {key, user, label, verified}) {
	if (!verified && !await confirm(
		`${isolate(label)} is not verified, and whoever gets the invite can join for good. User ID: ${groups(user)}`, "Invite")) return;
	const name = plain(chat), lost = `The invitation to ${name} may not have reached ${label}.`;
	if (!isDone(dialog, await requests.invite({chat, key}, {lost}))) return;
	remark(model.open, {text: `${label} is invited to ${name}.`});
	hooks.render();
	return true;
}

/** Sends an invite from the dialog about its person. */
export const sendFrom = async (dialog, chat, one) => await sendInvite(dialog, chat, one) && finish(dialog, {});

on({
	"invite-open": showInvite,
	"invite-copy": () => navigator.clipboard.writeText($("invite-text").value).then(() => say("invite", "Copied.")),
	"invite-save": () => save(`${model.open.name.replace(/[^\p{L}\p{N} _-]/gu, "") || "chat"}.invite`, `${$("invite-text").value}\n`),
	"invite-show"() {
		const rows = qr($("invite-text").value);
		const line = (row, y) => row.map((isDark, x) => isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : "").join("");
		$("invite-qr").replaceChildren(svg(rows.length + 8, "QR code of the invite", "path", {d: rows.map(line).join("")}));
	},
});
