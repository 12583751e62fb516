// The page: what the user does becomes requests, and what the model has is rendered once in a frame.

import { connect } from "./connection.js";
import * as dialogs from "./dialogs.js";
import { $, write } from "./dom.js";
import * as log from "./log.js";
import { apply, compose, disconnect, model, present, show } from "./model.js";
import { isCommand, plain, spoken } from "./text.js";
import * as view from "./view.js";

/** The longest message, in bytes (M-1). */
const LONGEST = 65536;
/** In milliseconds: the end of typing without the focus (T-9), the look for others, the refresh of chats. */
const BLUR = 2900;
const LOOKING = 3000;
const REFRESH = 20000;

const { dataset } = document.body;
const draft = $("draft");
const { open, close, tell, ask } = connect(applied, connected);
let isDrawing, banner = [], reading, blurred;
/** What the daemon has for the draft. The draft itself stays in the page. */
let stand = "";
let found = [], place = 0;

// A hidden tab has no frames, but a title.
const later = (act) => (document.hidden ? setTimeout : requestAnimationFrame)(act);

function render() {
	if (!isDrawing) later(() => {
		isDrawing = false;
		view.render();
		log.render();
	});
	isDrawing = true;
}

function connected(isUp, ...words) {
	banner = words;
	if (!isUp) {
		disconnect();
		model.lost = null;
	}
	showBanner();
}

function showBanner() {
	const { lost } = model;
	const [text, hasButton] = lost ? [`Inkling's daemon is lost: ${plain(lost.text, 300)} Your draft stays here.`, lost.starts] : banner;
	write("banner-text", text);
	$("banner").hidden = !text;
	$("banner-action").hidden = !hasButton;
	write("banner-action", lost ? "Start again" : "Try again");
	render();
}

function applied(line, request) {
	apply(line, request);
	if (line.on === "ready") begin();
	else if (line.on === "typing") view.showTyping();
	else if (line.on === "inkling-web") showBanner();
	else if (line.waited && line.chat === model.shown) {
		clearTimeout(reading);
		reading = setTimeout(tell, 50, { do: "read", chat: line.chat });
	} else if (request?.do === "leave" && !model.open) closeChat();
	render();
}

/** Asks for all that the page shows, as after a reload. */
async function begin() {
	stand = "";
	showBanner();
	ask("status");
	await ask("subscribe");
	const name = model.current ?? history.state;
	if (model.chats.has(name)) enter(name);
	else closeChat();
}

/** Opens a chat in the page. */
async function enter(name) {
	const chat = model.chats.get(name);
	if (name !== model.current) {
		if (model.open) model.open.draft = draft.value;
		draft.value = chat.draft;
		stand = "";
		write("hint");
		closeSearch();
	}
	model.current = name;
	history.replaceState(name, "");
	dataset.view = "chat";
	const joined = model.isReady && !chat.isJoined && ask("join", { chat: name, open: false });
	const recent = model.isReady && !chat.isRecent && ask("recent", { chat: name });
	showChat();
	log.enter(chat);
	render();
	const { on, text } = await joined;
	if (on === "error") write("hint", plain(text, 300));
	await recent;
	if (name !== model.current) return;
	log.enter(chat);
	if (getComputedStyle($("side")).display !== "none") draft.focus();
	look(chat);
	setTimeout(look, LOOKING, chat);
}

/** Makes the page's chat the daemon's current one, while the page is in sight. */
function showChat() {
	if (document.hidden || !model.open) return;
	for (const name of ["open", "read"]) tell({ do: name, chat: model.current });
	show();
}

/** Asks what discovery finds, for a user who is alone. */
function look(chat) {
	if (model.open !== chat || present(chat)) return;
	ask("sightings", { chat: chat.name });
	ask("chats");
}

function closeChat() {
	model.current = model.shown = null;
	history.replaceState(null, "");
	dataset.view = "list";
	render();
}

document.onvisibilitychange = () => {
	if (document.hidden) {
		type("");
		model.shown = null;
		return tell({ do: "open" });
	}
	ask("chats");
	const hasUnread = model.open?.firstUnread;
	showChat();
	if (hasUnread) log.enter(model.open);
	render();
};

/** Tells the daemon of an edit, by a text that stands for the draft. */
function type(text) {
	if (text !== stand && tell({ do: "compose", chat: model.current, text })) stand = text;
}

/** Returns whether a message is short enough, and otherwise says so. */
function fits(text) {
	const { length } = new TextEncoder().encode(text);
	if (length > LONGEST) write("hint", `This message has ${length} bytes, and ${LONGEST} are possible. Send it in parts.`);
	return length <= LONGEST;
}

function send() {
	const text = draft.value.trimEnd();
	if (!text) return;
	if (!model.isReady) return write("hint", "Not connected. Your text stays here.");
	if (isCommand(text)) return write("hint", `${plain(text.split(/\s/)[0], 20)} is no command of this page, which has /me ACTION. To begin with a slash, type two.`);
	if (!fits(spoken(text))) return;
	post(spoken(text));
	draft.value = stand = "";
	write("hint");
}

function post(text) {
	const { open } = model;
	const local = compose(open, text, Date.now() / 1000);
	ask("send", { chat: open.name, text }, { local });
	log.follow();
	render();
}

function retry(message) {
	if (!model.isReady) return;
	message.isRetried = true;
	message.version++;
	post(message.text);
}

draft.oninput = () => {
	const text = draft.value;
	write("hint");
	type(!/[^\s\p{C}\p{Z}]/u.test(text) || isCommand(text) ? "" : stand === "x" ? "xx" : "x");
	if (text.length > LONGEST / 3) fits(text);
};
draft.onkeydown = (event) => {
	// Some browsers send code 229 with the Enter that ends a composition.
	if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
	event.preventDefault();
	send();
};
draft.onblur = () => { blurred = setTimeout(type, BLUR, ""); };
draft.onfocus = () => clearTimeout(blurred);
draft.onpaste = draft.ondrop = (event) => {
	const { files, types } = event.clipboardData ?? event.dataTransfer;
	if (!files.length || types.includes("text/plain")) return;
	event.preventDefault();
	write("hint", "Inkling sends text only: no pictures and files.");
};

function closeSearch() {
	$("search-bar").hidden = true;
	$("search").value = "";
	log.search("");
}

/** Goes to the next found message in a direction. */
function step(by) {
	place = (place + by + found.length) % found.length;
	write("search-count", found.length ? `${place + 1} of ${found.length}` : "Not found");
	if (found.length) log.go(found[place]);
}

$("search").oninput = () => {
	found = log.search($("search").value.trim());
	place = 0;
	step(-1);
};
$("search-bar").onkeydown = ({ key }) => {
	if (key !== "Escape") return;
	closeSearch();
	$("search-open").focus();
};
for (const [id, act] of [["composer", () => { send(); draft.focus(); }], ["search-bar", () => step(-1)]]) {
	$(id).onsubmit = (event) => {
		event.preventDefault();
		act();
	};
}
$("chats").onclick = ({ target }) => {
	const button = target.closest("button");
	if (button) enter(button.dataset.chat);
};
$("chats").onkeydown = (event) => {
	const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!by) return;
	event.preventDefault();
	const buttons = [...$("chats").querySelectorAll("button")];
	buttons[buttons.indexOf(document.activeElement) + by]?.focus();
};
const clicks = {
	"search-next": () => step(1),
	"search-open": () => {
		if (!$("search-bar").hidden) return closeSearch();
		$("search-bar").hidden = false;
		$("search").focus();
	},
	"banner-action": () => model.lost ? tell({ do: "inkling-web-start" }) : open(),
};
for (const id in clicks) $(id).onclick = clicks[id];
for (const button of document.querySelectorAll(".icon")) {
	const { to } = button.dataset;
	button.title = button.ariaLabel;
	if (to) button.onclick = () => { dataset.view = dataset.view === to ? "chat" : to; };
}

onpagehide = () => {
	type("");
	close();
};
setInterval(() => document.hidden || ask("chats"), REFRESH);
dialogs.start({ ask, enter, render });
log.start(retry, dialogs.showPerson);
open();
