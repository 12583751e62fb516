// Search in a chat: in the messages of the page, and in the history on disk.

import {$, on, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import * as log from "./log.js";
import {model} from "./model.js";

/** The messages with the text, the latest first. Those that the page lacks have an `entry` alone. */
let found = [], place = 0, timer, searches = 0;

export function close() {
	$("search-bar").hidden = true;
	$("search").value = "";
	searches++;
	log.search("");
}

async function search() {
	const text = $("search").value.trim(), chat = model.open, run = ++searches;
	found = log.search(text);
	if (text && chat.first) {
		const {messages = []} = await requests.messages({chat: chat.name, text, before: chat.first, count: 200});
		if (run !== searches) return;
		found.push(...messages.filter(({entry}) => entry).reverse().map(({entry}) => ({entry})));
	}
	place = 0;
	step();
}

async function step() {
	place = place % found.length + 1 || 0;
	const hit = found[place - 1], chat = model.open, run = searches;
	write("search-count", place ? `${place} of ${found.length}` : $("search").value.trim() && "Not found");
	if (!place) return;
	while (!hit.key && chat.first > hit.entry && await hooks.older(chat)) if (run !== searches) return;
	const item = hit.key ? hit : chat.messages.find(({entry}) => entry === hit.entry);
	if (item && run === searches) log.go(item);
}

$("search").oninput = () => {
	clearTimeout(timer);
	timer = setTimeout(search, 150);
};
$("search-bar").onkeydown = ({key}) => { if (key === "Escape") $("draft").focus(close()); };
on({
	"search-bar": step,
	"search-open": () => $("search-bar").hidden ? $("search").focus($("search-bar").hidden = null) : close(),
});
