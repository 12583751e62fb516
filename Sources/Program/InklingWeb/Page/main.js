// Acts of the user become requests, and the model is rendered once in a frame.

import {open} from "./connection.js";
import * as dialogs from "./dialogs.js";
import {$, icon, on, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {apply, requests} from "./lines.js";
import * as log from "./log.js";
import {compose, disconnect, model, present, show} from "./model.js";
import {isCommand, plain, spoken} from "./text.js";
import * as view from "./view.js";

Object.assign(hooks, {begin, closeChat, connected, enter, read, received: apply, render, retry, showBanner});
Object.assign(hooks, {showPerson: dialogs.showPerson, showTyping: view.showTyping});
const {dataset} = document.body;
const draft = $("draft");
const hint = (text) => write("hint", text);
/** By what to press: commands of the prompt. */
const BUTTONS = {
	People: "who", "a name in People": "whois verify mute unmute block unblock remove talk", "Invite others": "invite",
	"Leave this chat": "leave", "Search in this chat": "find", "New chat": "join open", "your name, at the top": "nick away back",
};
let isDrawing, banner = [], reading, blurred, found = [], place = 0;
/** Stands for the draft, which stays in the page. */
let stand = "";

function render() {
	if (isDrawing) return;
	isDrawing = true;
	(document.hidden ? setTimeout : requestAnimationFrame)(() => {
		isDrawing = false;
		for (const region of [dialogs, view, log]) region.render();
	});
}

function connected(isUp, ...words) {
	if (!isUp) disconnect();
	showBanner(words);
}

function showBanner(next = banner) {
	banner = next;
	const {lost} = model, [text, hasButton] = lost ? [plain(lost.text, 300), lost.starts] : banner;
	write("banner-text", text);
	write("banner-action", lost ? "Start again" : "Try again");
	$("banner").hidden = !text;
	$("banner-action").hidden = !hasButton;
	render();
}

function read(chat) {
	clearTimeout(reading);
	reading = setTimeout(() => model.open && log.open(model.open, requests.read({chat})), 50);
}

async function begin() {
	stand = "";
	showBanner();
	requests.status();
	await requests.subscribe();
	const name = model.current ?? history.state;
	model.chats.has(name) ? enter(name) : closeChat();
}

async function enter(name) {
	const chat = model.chats.get(name), isOther = chat !== model.open;
	if (isOther) {
		// While the daemon joins the other chat, it would take messages in the former one for read.
		closeChat(requests.open());
		draft.value = chat.draft;
		stand = "";
		hint();
		closeSearch();
	}
	model.current = name;
	history.replaceState(name, "");
	dataset.view = "chat";
	const joined = !chat.isJoined && requests.join({chat: name});
	const recent = !chat.isRecent && requests.messages({chat: name, count: 200});
	showChat();
	if (isOther) log.open(chat);
	view.render();
	const {error} = await joined;
	if (error) hint(plain(error, 300));
	await recent;
	if (chat !== model.open) return;
	if (isOther) log.open(chat);
	if (isOther && name[0] === "#") hint("The # is part of this chat's name.");
	if (isOther && $("side").offsetWidth) draft.focus();
	setTimeout(look, 3000, chat);
}

function showChat() {
	const chat = model.current;
	if (document.hidden || !model.open) return;
	requests.open({chat});
	requests.read({chat});
	requests.status();
	show();
}

const look = (chat) => model.open !== chat || present(chat) || requests.sightings({chat: chat.name});

function closeChat() {
	if (model.open) model.open.draft = draft.value;
	model.current = model.shown = null;
	history.replaceState(null, "");
	dataset.view = "list";
	render();
}

document.onvisibilitychange = () => {
	isDrawing = false;
	if (document.hidden) {
		type("");
		model.shown = null;
		return requests.open();
	}
	showChat();
	if (model.open?.marker) log.open(model.open);
	render();
};

function type(text) {
	if (text !== stand && requests.compose({chat: model.current, text})) stand = text;
}

function send() {
	const text = draft.value.trimEnd(), {length} = new TextEncoder().encode(spoken(text));
	draft.focus();
	if (!text || !model.isReady) return;
	if (isCommand(text)) {
		const word = text.split(/\s/)[0].slice(1), button = Object.keys(BUTTONS).find((name) => BUTTONS[name].split(" ").includes(word));
		return hint(`/${plain(word, 20)} is no command here${button ? `: press ${button}` : ""}. To begin with a slash, type two.`);
	}
	if (length > 65536) return hint("A message has at most 65536 bytes. Send it in parts.");
	draft.value = stand = "";
	keep();
	hint();
	post(spoken(text));
}

function post(text) {
	const {open} = model, local = compose(open, text, Date.now() / 1000);
	requests.send({chat: open.name, text}, {local});
	log.follow();
}

function retry(message) {
	if (!model.isReady) return;
	Object.assign(message, {isRetried: true, version: message.version + 1});
	post(message.text);
}

/** The page's server keeps the draft for a reload. */
const keep = () => requests.keepDraft({chat: model.current, text: draft.value});

draft.oninput = () => {
	const text = draft.value;
	hint();
	keep();
	type(text[0] === "/" || !/[^\s\p{C}\p{Z}]/u.test(text) ? "" : stand === "x" ? "xx" : "x");
};
draft.onkeydown = (event) => {
	if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
	event.preventDefault();
	send();
};
draft.onblur = () => (blurred = setTimeout(type, 2900, ""));
draft.onfocus = () => clearTimeout(blurred);
draft.onpaste = draft.ondrop = (event) => {
	const {files, types} = event.clipboardData ?? event.dataTransfer;
	if (!files.length || types.includes("text/plain")) return;
	event.preventDefault();
	hint("Inkling sends text only: no pictures.");
};

function closeSearch() {
	$("search-bar").hidden = true;
	$("search").value = "";
	log.search("");
}

function step() {
	place = place % found.length + 1 || 0;
	write("search-count", place ? `${place} of ${found.length}` : "Not found");
	if (place) log.go(found[place - 1]);
}

$("search").oninput = () => {
	found = log.search($("search").value.trim());
	step(place = 0);
};
$("search-bar").onkeydown = ({key}) => { if (key === "Escape") draft.focus(closeSearch()); };
$("chats").onkeydown = (event) => {
	const side = {ArrowDown: "nextSibling", ArrowUp: "previousSibling"}[event.key];
	if (side) event.target.parentNode[side]?.firstChild.focus(event.preventDefault());
};
on({
	composer: send, "search-bar": step,
	"search-open": () => $("search-bar").hidden ? $("search").focus($("search-bar").hidden = null) : closeSearch(),
	"banner-action"() {
		model.lost ? requests.startDaemon() : open();
		// The button goes.
		$(model.open ? "draft" : "new-chat").focus();
	},
});
for (const button of document.querySelectorAll("button[title]")) {
	const {icon: name, to} = button.dataset;
	if (name) button.append(icon(name));
	button.ariaLabel = button.title;
	if (to) button.onclick = () => to === "list" ? closeChat(requests.open()) : (dataset.view = dataset.view === to ? "chat" : to);
}
setInterval(() => document.hidden || requests.status(), 5000);
