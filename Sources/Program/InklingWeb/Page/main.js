// The page: what the user does becomes requests, and what the model has is rendered once in a frame.

import { Connection } from "./connection.js";
import { Daemon } from "./daemon.js";
import { Dialogs } from "./dialogs.js";
import { $ } from "./dom.js";
import { Log } from "./log.js";
import { Model } from "./model.js";
import { isCommand, plain, spoken } from "./text.js";
import { View } from "./view.js";

/** The longest message, in bytes (M-1). */
const LONGEST = 65536;
/** In milliseconds: the end of typing without the focus (T-9), the look for others, and the refresh of chats. */
const BLUR = 2900;
const LOOKING = 3000;
const REFRESH = 20000;

const model = new Model();
const view = new View(model);
const daemon = new Daemon(model, applied);
const dialogs = new Dialogs(model, daemon, { enter, render });
const log = new Log(model, { retry, compare: (user) => dialogs.person(user) });
const connection = daemon.connection = new Connection((line) => daemon.receive(line), connected);
const tell = (request) => connection.send(request);
const { body } = document;
const draft = $("draft");

let isDrawing = false;
let banner = [];
/** What the daemon has for the draft. The draft itself stays in the page. */
let stand = "";
let found = [];
let place = 0;
let timer;

function render() {
	if (isDrawing) return;
	isDrawing = true;
	// A hidden tab has no frames, but a title.
	(document.hidden ? setTimeout : requestAnimationFrame)(() => {
		isDrawing = false;
		view.render();
		log.render();
	});
}

function showBanner() {
	const { lost } = model;
	const [text, button] = lost ? [`Inkling's daemon is lost: ${plain(lost.text, 300)} Your draft stays here.`, lost.starts] : banner;
	$("banner").hidden = !text;
	$("banner-text").textContent = text;
	$("banner-action").hidden = !button;
	$("banner-action").textContent = lost ? "Start again" : "Try again";
	render();
}

function hint(text = "") {
	$("hint").textContent = text;
}

function connected(isUp, ...words) {
	banner = words;
	if (!isUp) {
		model.lost = null;
		daemon.disconnect();
	}
	showBanner();
}

function applied(line, request) {
	if (line.on === "ready") begin();
	else if (line.on === "typing") view.typing();
	else if (line.on === "inkling-web") showBanner();
	else if (line.waited && model.shown === line.chat) {
		clearTimeout(timer);
		timer = setTimeout(tell, 50, { do: "read", chat: line.chat });
	} else if (request?.do === "leave" && !model.open) close();
	render();
}

/** Asks for all that the page shows, as after a reload. */
async function begin() {
	stand = "";
	showBanner();
	daemon.request({ do: "status" });
	await daemon.request({ do: "subscribe" });
	const name = model.current ?? history.state;
	if (model.chats.has(name)) enter(name);
	else close();
}

/** Opens a chat in the page. */
async function enter(name) {
	const chat = model.chats.get(name);
	if (name !== model.current) {
		if (model.open) model.open.draft = draft.value;
		draft.value = chat.draft;
		stand = "";
		hint();
		closeSearch();
	}
	model.current = name;
	history.replaceState(name, "");
	body.dataset.view = "chat";
	if (!model.isReady) return log.enter(chat);
	const joined = chat.isJoined || daemon.request({ do: "join", chat: name, open: false });
	const recent = chat.isRecent || daemon.request({ do: "recent", chat: name });
	show();
	const { on, text } = await joined;
	if (on === "error") hint(plain(text, 300));
	await recent;
	if (name !== model.current) return;
	log.enter(chat);
	render();
	if (getComputedStyle($("side")).display !== "none") draft.focus();
	look(chat);
	setTimeout(look, LOOKING, chat);
}

/** Makes the page's chat the daemon's current one, while the page is in sight. */
function show() {
	if (document.hidden || !model.open) return;
	tell({ do: "open", chat: model.current });
	tell({ do: "read", chat: model.current });
	model.show();
}

/** Asks what discovery finds, for a user who is alone. */
function look(chat) {
	if (model.open !== chat || model.present(chat)) return;
	daemon.request({ do: "sightings", chat: chat.name });
	daemon.request({ do: "chats" });
}

function close() {
	model.current = model.shown = null;
	history.replaceState(null, "");
	body.dataset.view = "list";
	render();
}

document.onvisibilitychange = () => {
	if (document.hidden) {
		compose("");
		model.shown = null;
		return tell({ do: "open" });
	}
	daemon.request({ do: "chats" });
	const hasUnread = model.open?.firstUnread;
	show();
	if (hasUnread) log.enter(model.open);
	render();
};

// The draft

function compose(text) {
	if (text !== stand && tell({ do: "compose", chat: model.current, text })) stand = text;
}

/** Tells the daemon of an edit, by a text that stands for the draft. */
function edit() {
	const text = draft.value;
	const counts = /[^\s\p{C}\p{Z}]/u.test(text) && !isCommand(text);
	compose(!counts ? "" : stand === "x" ? "xx" : "x");
	hint();
	if (text.length > LONGEST / 3) fits(text);
}

/** Returns whether a message is short enough, and otherwise says so. */
function fits(text) {
	const { length } = new TextEncoder().encode(text);
	if (length > LONGEST) hint(`This message has ${length} bytes, and ${LONGEST} are possible. Send it in parts.`);
	return length <= LONGEST;
}

function send() {
	const text = draft.value.trimEnd();
	if (!text) return;
	if (!model.isReady) return hint("Not connected. Your text stays here.");
	if (isCommand(text)) return hint(`${plain(text.split(/\s/)[0], 20)} is no command of this page, which has /me ACTION. To begin with a slash, type two.`);
	if (!fits(spoken(text))) return;
	post(spoken(text));
	draft.value = stand = "";
	hint();
}

function post(text) {
	const { open } = model;
	const local = model.compose(open, text, Date.now() / 1000);
	daemon.request({ do: "send", chat: open.name, text }, { local });
	log.follow();
	render();
}

function retry(message) {
	if (!model.isReady) return;
	message.isRetried = true;
	message.version++;
	post(message.text);
}

draft.oninput = edit;
draft.onkeydown = (event) => {
	// Some browsers send code 229 with the Enter that ends a composition.
	if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
	event.preventDefault();
	send();
};
draft.onblur = () => { timer = setTimeout(compose, BLUR, ""); };
draft.onfocus = () => clearTimeout(timer);
draft.onpaste = draft.ondrop = (event) => {
	const { files, types } = event.clipboardData ?? event.dataTransfer;
	if (!files.length || types.includes("text/plain")) return;
	event.preventDefault();
	hint("Inkling sends text only: no pictures and files.");
};
$("composer").onsubmit = (event) => {
	event.preventDefault();
	send();
	draft.focus();
};

// Search and panes

function closeSearch() {
	$("search-bar").hidden = true;
	$("search").value = "";
	log.search("");
}

/** Goes to the next found message in a direction. */
function step(by) {
	if (!found.length) return;
	place = (place + by + found.length) % found.length;
	log.go(found[place]);
	$("search-count").textContent = `${place + 1} of ${found.length}`;
}

$("search").oninput = () => {
	found = log.search($("search").value.trim());
	place = 0;
	$("search-count").textContent = "Not found";
	step(-1);
};
$("search-bar").onkeydown = ({ key }) => {
	if (key !== "Escape") return;
	closeSearch();
	$("search-open").focus();
};
$("search-bar").onsubmit = (event) => {
	event.preventDefault();
	step(-1);
};

$("chats").onclick = ({ target }) => {
	const name = target.closest("[data-chat]")?.dataset.chat;
	if (name) enter(name);
};
$("chats").onkeydown = (event) => {
	const buttons = [...$("chats").querySelectorAll("button")];
	const index = buttons.indexOf(document.activeElement);
	const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
	if (target === undefined) return;
	event.preventDefault();
	buttons[target]?.focus();
};
const clicks = {
	"search-previous": () => step(-1), "search-next": () => step(1), "search-close": closeSearch,
	"search-open": () => {
		$("search-bar").hidden = false;
		$("search").focus();
	},
	"people-open": () => { body.dataset.view = body.dataset.view === "people" ? "chat" : "people"; },
	"people-close": () => { body.dataset.view = "chat"; },
	"back-to-list": () => { body.dataset.view = "list"; },
	"banner-action": () => model.lost ? tell({ do: "inkling-web-start" }) : connection.open(),
};
for (const id of Object.keys(clicks)) $(id).onclick = clicks[id];
for (const button of document.querySelectorAll("[aria-label]")) button.title ||= button.ariaLabel;

onpagehide = () => {
	compose("");
	connection.close();
};
setInterval(() => document.hidden || daemon.request({ do: "chats" }), REFRESH);
connection.open();
