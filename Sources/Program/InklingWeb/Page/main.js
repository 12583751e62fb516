// Acts of the user become requests, and the model is rendered once in a frame.

import {open} from "./connection.js";
import * as dialogs from "./dialogs.js";
import {$, el, icon, on, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {apply, requests} from "./lines.js";
import * as log from "./log.js";
import * as lists from "./lists.js";
import {compose, disconnect, model, present, show} from "./model.js";
import * as notify from "./notify.js";
import * as search from "./search.js";
import {isCommand, plain, spoken} from "./text.js";
import * as view from "./view.js";
import * as welcome from "./welcome.js";

Object.assign(hooks, {ready, closeChat, connected, enter, older, read, received: apply, render, retry, showBanner});
Object.assign(hooks, {showPerson: dialogs.showPerson, showTyping: view.showTyping, arrived: notify.arrived});
const {dataset} = document.body;
const draft = $("draft");
const hint = (text) => write("hint", text);
/** By what to press: commands of the prompt. */
const BUTTONS = {
	People: "who", "a name in People": "whois verify mute unmute block unblock remove talk owner", "Invite others": "invite",
	"Leave this chat": "leave", "Search in this chat": "find", "New chat": "join open", "your name, at the top": "nick away back notify",
	"Options of this chat": "history waiting forget own", "Send again": "resend", "Let them follow": "admit",
};
let isDrawing, banner = [], reading, blurred;
/** Stands for the draft, which stays in the page. */
let stand = "";

function render() {
	if (isDrawing) return;
	isDrawing = true;
	(document.hidden ? setTimeout : requestAnimationFrame)(() => {
		isDrawing = false;
		for (const region of [dialogs, view, welcome, lists, notify, log]) region.render();
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

async function ready() {
	stand = "";
	showBanner();
	requests.status();
	requests.waiting();
	await requests.subscribe();
	// A request without an answer has failed with the former connection, and shows its error here.
	hint();
	const name = model.current ?? history.state ?? model.last;
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
		search.close();
		requests.shown(name);
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
	// Without a connection, the banner says so.
	if (error && model.isReady) hint(plain(error, 300));
	await recent;
	// The place from before a reload may be further above.
	const entry = +(model.places.get(name) ?? "").split(" ")[2];
	while (isOther && chat === model.open && entry && chat.first > entry && await older(chat));
	if (chat !== model.open) return;
	if (isOther) log.open(chat);
	if (isOther && name[0] === "#") hint("The # is part of this chat's name.");
	if (isOther && $("side").offsetWidth && !document.querySelector("dialog[open]")) draft.focus();
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

/** Asks for messages before those of the page. Returns whether some came. */
function older(chat) {
	const {first: before, name} = chat;
	if (before && chat.messages.length < 9500) chat.loading ??= Promise.resolve(requests.messages({chat: name, before, count: 200}))
		.then(({error}) => !error && chat.first !== before).finally(() => { chat.loading = null; });
	return chat.loading;
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
const keep = () => requests.keep({kind: "drafts", chat: model.current, text: draft.value});

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

$("chats").onkeydown = (event) => {
	const side = {ArrowDown: "nextSibling", ArrowUp: "previousSibling"}[event.key];
	if (side) event.target.parentNode[side]?.firstChild.focus(event.preventDefault());
};
on({
	composer: send,
	examine() {
		model.open.isExamining = requests.examine(model.current);
		render();
	},
	"banner-action"() {
		model.lost ? requests.startDaemon() : open();
		// The button goes.
		$(model.open ? "draft" : "new-chat").focus();
	},
});
for (const button of document.querySelectorAll("button[title]")) {
	const {icon: name, to, word} = button.dataset;
	if (name) button.append(icon(name));
	if (word) button.append(el("span.word", word));
	button.ariaLabel = button.title;
	if (to) button.onclick = () => to === "list" ? closeChat(requests.open()) : (dataset.view = dataset.view === to ? "chat" : to);
}
setInterval(() => document.hidden || requests.status(), 5000);
