// The conversation: a window that scrolls.

import {$, bdi, el, icon, on, shield, sync, unseen, write} from "./dom.js";
import {hooks} from "./hooks.js";
import {requests} from "./lines.js";
import {model, person} from "./model.js";
import {WHY} from "./names.js";
import {clock, day, days, deed, has, lines, pieces, plain} from "./text.js";

const MOST = 300, STEP = 100;

const log = $("conversation"), rows = log.children;
let chat, hit, keeping;
/** The window's first item and rows; whether the end stays in sight. */
let top, count = 0, follows = true, seen;

export function open(next) {
	if (next !== chat) {
		log.replaceChildren();
		chat = next;
		search("");
	}
	log.ariaLive = "off";
	follow();
	const marked = chat.byKey.get(chat.marker);
	if (marked) return reveal(marked, 8);
	const [key, distance] = (model.places.get(chat.name) ?? "").split(" "), read = chat.byKey.get(key);
	if (read) reveal(read, +distance);
}

/** The place for a reload: the first message in sight that the daemon knows too, its distance and entry; none at the end. */
function keep() {
	if (!chat.isRecent) return;
	const row = !follows && [...rows].find(({key, offsetTop, offsetHeight}) => !/^local/.test(key) && offsetTop + offsetHeight > log.scrollTop);
	const {name} = chat, text = row ? `${row.key} ${Math.round(row.offsetTop - log.scrollTop)} ${row.item.entry ?? 0}` : "";
	if ((model.places.get(name) ?? "") === text) return;
	model.places.set(name, text);
	requests.keep({kind: "places", chat: name, text});
}

export function follow() {
	follows = true;
	render();
}

export function search(text) {
	hit = null;
	render();
	return text ? chat.messages.filter((one) => has(one.text, text)).reverse() : [];
}

export function go(item) {
	hit = item;
	item.isWhole = true;
	reveal(item, log.clientHeight / 3);
}

export function render() {
	if (!chat) return;
	const all = chat.messages, {scrollTop} = log;
	const anchor = !follows && [...rows].find((row) => row.offsetTop + row.offsetHeight > scrollTop);
	const distance = anchor && anchor.offsetTop - scrollTop;
	let first = Math.max(0, all.indexOf(top));
	if (follows && all.length - first > MOST) first = all.length - STEP;
	count = Math.min(all.length - first, follows ? MOST : Math.max(count, MOST - STEP));
	top = all[first];
	sync(log, all.slice(first, first + count).map((item, index) => rowOf(item, all[first + index - 1])));
	for (const row of rows) if (row.item.own && row.version !== row.item.version) fill(row);
	log.ariaLive = follows ? "polite" : "off";
	if (anchor) place(anchor.key, distance);
	settle();
}

function place(wanted, distance) {
	const row = [...rows].find(({key}) => key === wanted);
	if (row) log.scrollTop = row.offsetTop - distance;
}

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
	const first = Math.max(0, chat.messages.indexOf(top)), rest = chat.messages.length - first - count;
	const below = log.scrollHeight - log.scrollTop - log.clientHeight;
	follows = below < 48 && (follows || rest <= 0);
	clearTimeout(keeping);
	keeping = setTimeout(keep, 300);
	if (follows) settle();
	else if (log.scrollTop < 800 && first > 0) move(first - STEP);
	else if (log.scrollTop < 400 && chat.first) hooks.older(chat)?.then((came) => came && scrolled());
	else if (below < 800 && rest > 0) move(Math.max(first, first + count + STEP - MOST));
	else settle();
}

function move(first) {
	top = chat.messages[Math.max(0, first)];
	count = MOST;
	follows = false;
	render();
}

function reveal(item, distance) {
	move(chat.messages.indexOf(item) - STEP);
	place(item.key, distance);
	scrolled();
}

function rowOf(item, before) {
	const {at, from, key, own} = item, isMarked = chat.marker === key;
	const date = (!before || days(before.at, at)) && day(at);
	const isFirst = date || isMarked || before.from.user !== from.user || before.remark || at - before.at > 300;
	const author = own ? {label: "You"} : person(chat, from);
	const sign = [author.label, author.verified, date, isMarked, !isFirst, item === hit, item.isWhole].join();
	return [key, sign, () => Object.assign(el("div", {"data-message": key}, date && el("p.day", date),
		isMarked && el("p.day.unread", {id: "unread"}, "New messages"),
		item.remark ? remark(item.remark, author) : bubble(item, author, isFirst)), {item})];
}

function bubble(item, {label, verified}, isFirst) {
	const {at, isMention, own} = item, action = deed(item.text), text = action ?? item.text;
	const start = text.split("\n", 20).join("\n").slice(0, 1200);
	const isLong = !item.isWhole && start !== text;
	const kinds = ["article", own && "own", isFirst && "first", isMention && "mention", action && "deed", item === hit && "hit"];
	return el(kinds.filter(Boolean).join("."),
		own || !isFirst && !action ? unseen(`${label}: `) : el("h2.by.line", bdi(label), shield(verified)),
		el("div.bubble", el("p.text", {dir: "auto"}, words(isLong ? `${start}…` : text)),
			isLong && el("button.all", () => render(item.isWhole = true), "Show all"),
			el("small.meta", isMention && "for you · ", clock(at))),
		own && el("small.outcome"));
}

const words = (text) => pieces(text).map(({text, href}) =>
	/^https?:/.test(href) ? Object.assign(el("a", text), {href, target: "_blank", rel: "noopener noreferrer"}) : text);

function remark({text, user, known, verified}, {label}) {
	if (!user) return el("p.day", lines(text));
	return el("div.alert", el("p", icon("warning"), bdi(label), " is not the ", bdi(chat.people.get(known)?.label ?? "person"),
		` you ${verified ? "verified" : "know"}: the key is different. Share nothing secret before you compare.`),
	el("button", () => hooks.showPerson(user), "Compare"));
}

function fill(row) {
	const {item} = row, [text, isBad] = outcome(item), place = row.querySelector(".outcome");
	place.replaceChildren(text);
	place.classList.toggle("bad", !!isBad);
	if (isBad && !item.isRetried) place.append(" ", el("button", () => hooks.retry(item), "Send again"));
	row.version = item.version;
}

function outcome({state, to, delivered, failed, waiting, error}) {
	if (state === "sending") return ["Sending…"];
	if (state === "unknown") return ["Not known: the connection ended.", true];
	if (state === "error") return [`Not sent: ${plain(error, 300)}`, true];
	if (to === 0) return ["Nobody was here to receive it.", true];
	const some = delivered.size ? `Delivered to ${delivered.size} of ${to}` : "";
	const list = (words, users) => {
		const people = [...users].map(([user, why]) => person(chat, {user}).label + (WHY[why] ? ` (${WHY[why]})` : ""));
		if (people.length > 3) people.splice(3, Infinity, `${people.length - 3} more`);
		return `${some && `${some}. `}${words} ${people.join(", ")}.`;
	};
	if (failed.size) return [list("May not have reached", failed), true];
	if (waiting.size) return [list("Waiting for", waiting.entries())];
	if (delivered.size < to) return [some || "On its way"];
	return [to > 1 ? `Delivered to all ${to}` : to ? "Delivered" : "Sent"];
}

log.onscroll = scrolled;
on({more: follow});
new ResizeObserver(settle).observe(log);
