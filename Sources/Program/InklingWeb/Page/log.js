// The conversation: a window of at most 300 rows, which moves with the scrolling. What the user reads keeps its place.

import { $, bdi, el, icon, sync, unseen, write } from "./dom.js";
import { model, pattern, person } from "./model.js";
import { clock, day, deed, lines, pieces, plain } from "./text.js";

const MOST = 300;
/** How many rows the window moves, within how many pixels of its end. */
const STEP = 100;
const NEAR = 800;
/** What is not folded, in characters and lines. */
const LONGEST = 1200;
const LINES = 20;
/** The longest pause in a group of messages, in seconds. */
const PAUSE = 300;
const WHY = {
	bye: "left", quit: "you left", left: "you left", silence: "out of reach", will: "quit", stalled: "did not answer",
	full: "too many links", "lost-state": "connection lost", replaced: "restarted",
};

const log = $("conversation");
const actions = {};
let chat, query, hit;
/** The first message of the window and their number; whether the end stays in sight; the last message in sight then. */
let top, count = 0, follows = true, seen;

/** Shows a chat at its first unread message, or at its end. */
export function enter(next) {
	if (next !== chat) {
		log.replaceChildren();
		chat = next;
		search("");
	}
	log.ariaLive = "off";
	follow();
	const marked = chat.byKey.get(chat.marker);
	if (marked) reveal(marked, 8);
}

export function follow() {
	follows = true;
	render();
}

/** Marks a text, and returns the messages that have it. */
export function search(text) {
	query = text && pattern(text);
	hit = null;
	render();
	return text ? chat.messages.filter(({ text }) => text.search(query) >= 0) : [];
}

export function go(message) {
	hit = message;
	message.isWhole = true;
	reveal(message, log.clientHeight / 3);
}

/** `retry(message)` and `compare(user)` are what the buttons in rows do. */
export function start(retry, compare) {
	Object.assign(actions, { retry, compare });
	$("more").onclick = follow;
	log.onscroll = scrolled;
	new ResizeObserver(settle).observe(log);
}

export function render() {
	if (!chat) return;
	const all = chat.messages;
	const rows = log.children;
	const { scrollTop } = log;
	const anchor = !follows && [...rows].find((row) => row.offsetTop + row.offsetHeight > scrollTop);
	const distance = anchor && anchor.offsetTop - scrollTop;
	let first = Math.max(0, all.indexOf(top));
	if (follows && all.length - first > MOST) first = all.length - STEP;
	count = Math.min(all.length - first, follows ? MOST : Math.max(count, MOST - STEP));
	top = all[first];
	sync(log, all.slice(first, first + count).map((message, index) => row(message, all[first + index - 1])));
	for (const row of rows) if (row.message.own && row.version !== row.message.version) fill(row);
	// Rows of the past are no news for a screen reader.
	log.ariaLive = follows ? "polite" : "off";
	const place = anchor && [...rows].find(({ key }) => key === anchor.key);
	if (place) log.scrollTop = place.offsetTop - distance;
	settle();
}

/** Keeps the end in sight, or says how much came below. */
function settle() {
	const all = chat?.messages ?? [];
	if (follows) {
		log.scrollTop = log.scrollHeight;
		seen = all.at(-1);
	}
	const more = all.length - 1 - all.indexOf(seen);
	$("more").hidden = follows;
	write("more", more ? `${more} new ↓` : "To the end ↓");
}

function scrolled() {
	const first = Math.max(0, chat.messages.indexOf(top));
	const rest = chat.messages.length - first - count;
	const below = log.scrollHeight - log.scrollTop - log.clientHeight;
	follows = below < 48 && (follows || rest <= 0);
	if (follows) settle();
	else if (log.scrollTop < NEAR && first > 0) move(first - STEP);
	else if (below < NEAR && rest > 0) move(Math.max(first, first + count + STEP - MOST));
	else settle();
}

function move(first) {
	top = chat.messages[Math.max(0, first)];
	count = MOST;
	follows = false;
	render();
}

/** Puts a message that many pixels below the top. */
function reveal(message, distance) {
	move(chat.messages.indexOf(message) - STEP);
	const row = [...log.children].find(({ key }) => key === message.key);
	if (row) log.scrollTop = row.offsetTop - distance;
	scrolled();
}

const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0);

function row(message, before) {
	const { at, from, key, own } = message;
	const date = (!before || midnight(before.at) !== midnight(at)) && day(at);
	const isMarked = chat.marker === key;
	const isFirst = date || isMarked || before.from.user !== from.user || before.remark || at - before.at > PAUSE;
	const author = own ? { label: "You" } : person(chat, from);
	const isHit = message === hit;
	const sign = [author.label, author.verified, date, isMarked, !isFirst, isHit, message.isWhole, query].join();
	return [key, sign, () => Object.assign(el("div", { "data-message": key }, date && el("p.day", date),
		isMarked && el("p.unread", { id: "unread" }, "New messages"),
		message.remark ? remark(message.remark, author) : bubble(message, author, isFirst, isHit)), { message })];
}

function bubble(message, { label, verified }, first, isHit) {
	const { at, delayed, isMention, isWhole, own } = message;
	const action = deed(message.text);
	const text = action ?? message.text;
	const start = text.split("\n", LINES).join("\n").slice(0, LONGEST);
	const isLong = !isWhole && start !== text;
	const showAll = () => {
		message.isWhole = true;
		render();
	};
	return el(`article${own ? ".own" : ""}${first ? ".first" : ""}${isMention ? ".mention" : ""}${action ? ".deed" : ""}${isHit ? ".hit" : ""}`,
		own || !first && !action ? unseen(`${label}: `) : el("h2.by.line", bdi(label), verified && icon("shield", "verified")),
		el("div.bubble", el("p.text", { dir: "auto" }, words(isLong ? `${start}…` : text)),
			isLong && el("button.all", { onclick: showAll }, "Show all"),
			el("small.meta", isMention && "for you · ", delayed && "came late · ", clock(at))),
		own && el("small.outcome"));
}

/** Returns a text as nodes, with links and what the user searches. */
const words = (text) => pieces(text).flatMap((piece) => {
	if (/^https?:/.test(piece.href)) {
		return Object.assign(el("a", piece.text), { href: piece.href, target: "_blank", rel: "noopener noreferrer" });
	}
	if (!query) return piece.text;
	const found = piece.text.match(query) ?? [];
	return piece.text.split(query).flatMap((part, index) => [part, found[index] && el("mark", found[index])]);
});

function remark({ text, user, known, verified }, { label }) {
	if (!user) return el("p.remark", lines(text));
	return el("div.remark.alert", icon("warning"), el("p", bdi(label), " is not the ", bdi(chat.people.get(known)?.label ?? "person"),
		` you ${verified ? "verified" : "know"}: the key is different. It may be a new device, or somebody else with that name. `
		+ "Share nothing secret until you have compared fingerprints."),
	el("button", { onclick: () => actions.compare(user) }, "Compare"));
}

/** Writes the outcome of an own message. */
function fill(row) {
	const { message } = row;
	const [text, isBad] = outcome(message);
	const place = row.querySelector(".outcome");
	place.replaceChildren(text);
	place.classList.toggle("bad", !!isBad);
	if (isBad && !message.isRetried) place.append(" ", el("button", { onclick: () => actions.retry(message) }, "Try again"));
	row.version = message.version;
}

/** Returns the words for an outcome, and whether the message may not have arrived. */
function outcome({ state, to, delivered, failed, error }) {
	if (state === "sending") return ["Sending…"];
	if (state === "unknown") return ["Not known: the connection ended before an answer.", true];
	if (state === "error") return [`Not sent: ${plain(error, 300)}`, true];
	if (to === 0) return ["Nobody was here to receive it.", true];
	const some = delivered.size ? `Delivered to ${delivered.size} of ${to}` : "";
	const people = [...failed].slice(0, 3).map(([user, why]) => `${person(chat, { user }).label} (${WHY[why] ?? why})`);
	if (failed.size > 3) people.push(`${failed.size - 3} more`);
	if (failed.size) return [`${some && `${some}. `}May not have reached ${people.join(", ")}.`, true];
	if (delivered.size < to) return [some || "On its way"];
	return [to > 1 ? `Delivered to all ${to}` : to ? "Delivered" : "Sent"];
}
