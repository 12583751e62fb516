// What all dialogs have: opening, notes about errors, questions.

import {$, el, set, write} from "./dom.js";
import {plain} from "./text.js";

export const open = (name) => $(`dialog-${name}`).showModal();
export const say = (name, text) => write(`${name}-note`, text);
export const noted = (name) => $(`${name}-note`).textContent;
export const isDone = (name, {error}) => !say(name, plain(error, 400)) && !error;
export const finish = (name, answer) => isDone(name, answer) && !$(`dialog-${name}`).close();

export function confirm(text, yes, ...rows) {
	write("ask-text", text);
	write("ask-yes", yes);
	$("ask-list").replaceChildren(...rows);
	open("ask");
	return new Promise((done) => {
		$("dialog-ask").onclose = () => done();
		$("ask-yes").onclick = () => $("dialog-ask").close(done(true));
	});
}

for (const dialog of document.querySelectorAll("dialog")) {
	const foot = dialog.querySelector(".foot"), name = dialog.id.slice(7);
	set(dialog, {"aria-labelledby": dialog.querySelector("h2, p").id});
	foot.before(el("p.bad", {id: `${name}-note`, role: "alert"}));
	dialog.onclose = () => say(name);
	// After a press on Close, the field with the focus has no caret, and keys do nothing there.
	dialog.addEventListener("close", () => {
		const {activeElement} = document;
		activeElement.blur();
		activeElement.focus();
	});
	foot.prepend(el("button.close", {type: "button"}, () => dialog.close(), dialog.role ? "Cancel" : "Close"));
}
