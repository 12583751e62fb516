// Notifications of the browser, for a page that nobody looks at. They are off until the user switches them on.

import {$, on, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {model} from "./model.js";
import {deed, isolate, plain} from "./text.js";

const can = () => typeof Notification === "function" && Notification.permission !== "denied";
const isOn = () => can() && Notification.permission === "granted" && model.choices.has("notify");

function choose(text) {
	text ? model.choices.set("notify", text) : model.choices.delete("notify");
	requests.keep({kind: "choices", chat: "notify", text});
	render();
}

export function render() {
	$("notify").disabled = !can();
	$("notify").checked = isOn();
	$("notify-text").disabled = !isOn();
	$("notify-text").checked = isOn() && model.choices.get("notify") === "texts";
	$("icon-row").hidden = model.icon === undefined;
	$("icon-on").checked = model.icon;
	write("icon-fault", plain(model.iconFault, 300));
	write("notify-words", can() ? "" : "This browser does not let the page notify you.");
}

/** Notifies of a message that has come. Without the second switch, nothing of a private chat's text shows. */
export function arrived({name, secret}, {from, text}) {
	if (!isOn() || !document.hidden && document.hasFocus()) return;
	const isShown = !secret || model.choices.get("notify") === "texts";
	// One for each chat: a later one replaces it.
	const shown = new Notification(`${isolate(from.label)} in ${isolate(plain(name))}`, {body: isShown ? plain(deed(text) ?? text, 200) : "A new message", tag: name});
	shown.onclick = () => {
		focus();
		shown.close(hooks.enter(name));
	};
}

on({
	async notify() {
		const wants = $("notify").checked;
		if (wants) await Notification.requestPermission();
		choose(wants && Notification.permission === "granted" ? "on" : "");
	},
	"icon-on": () => requests.icon($("icon-on").checked),
	"notify-text": () => choose($("notify-text").checked ? "texts" : "on"),
});
