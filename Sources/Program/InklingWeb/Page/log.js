// The conversation: a window of at most 300 rows, which moves with the scrolling. What the user reads keeps its place.

import { $, bdi, el, icon, link, sync, unseen } from "./dom.js";
import { pattern } from "./model.js";
import { clock, day, deed, lines, pieces, plain } from "./text.js";

const MOST = 300;
/** How many rows the window moves, and within how many pixels of its end. */
const STEP = 100;
const NEAR = 800;
/** The longest text that is not folded, in characters and lines. */
const LONGEST = 1200;
const LINES = 20;
/** The longest pause in a group of messages, in seconds. */
const PAUSE = 300;
const WHY = {
	bye: "left", quit: "you left", left: "you left", silence: "out of reach", will: "quit", stalled: "did not answer",
	full: "too many links", "lost-state": "connection lost", replaced: "restarted",
};
const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0);

export class Log {
	#chat;
	/** The window's first message and its length. */
	#top;
	#count = 0;
	/** Whether the end is in sight and stays there, and the last message that was. */
	#follows = true;
	#seen;
	#query;
	#hit;
	#log = $("conversation");

	/** `retry(message)` and `compare(user)` are what buttons in rows do. */
	constructor(model, actions) {
		Object.assign(this, { model, actions });
		const log = this.#log;
		log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
		log.addEventListener("keydown", (event) => {
			if (event.target !== log || !/^(Home|End)$/.test(event.key)) return;
			event.preventDefault();
			if (event.key === "End") return this.follow();
			this.#move(0, MOST);
			log.scrollTop = 0;
		});
		$("new-messages").addEventListener("click", () => this.follow());
		new ResizeObserver(() => this.#settle()).observe(log);
	}

	/** Shows a chat at its first unread message, or at its end. */
	enter(chat) {
		if (chat !== this.#chat) {
			this.#log.replaceChildren();
			this.#chat = chat;
			this.#query = this.#hit = null;
		}
		this.#log.ariaLive = "off";
		this.follow();
		const marked = chat.byKey.get(chat.marker);
		if (marked) this.#reveal(marked, 8);
	}

	/** Goes to the end and stays there. */
	follow() {
		this.#follows = true;
		this.render();
	}

	/** Marks a text, and returns the messages that have it. */
	search(text) {
		this.#hit = null;
		this.#query = text && pattern(text);
		this.render();
		return text ? this.#chat.messages.filter(({ text }) => text.search(this.#query) >= 0) : [];
	}

	/** Brings a found message into sight. */
	go(message) {
		this.#hit = message;
		message.isWhole = true;
		this.#reveal(message, this.#log.clientHeight / 3);
	}

	render() {
		if (!this.#chat) return;
		const log = this.#log;
		const all = this.#chat.messages;
		const { scrollTop, children } = log;
		const inSight = (row) => row.offsetTop + row.offsetHeight > scrollTop;
		const anchor = this.#follows ? null : [...children].find(inSight);
		const distance = anchor && anchor.offsetTop - scrollTop;
		let first = Math.max(0, all.indexOf(this.#top));
		if (!this.#follows) this.#count = Math.min(MOST, Math.max(this.#count, MOST - STEP));
		else {
			if (all.length - first > MOST) first = all.length - STEP;
			this.#count = MOST;
		}
		const last = Math.min(all.length, first + this.#count);
		this.#top = all[first];
		this.#count = last - first;
		sync(log, all.slice(first, last).map((message, index) => this.#row(message, all[first + index - 1])));
		for (const row of children) if (row.message.own && row.version !== row.message.version) this.#fill(row);
		// Rows of the past are no news for a screen reader.
		log.ariaLive = this.#follows ? "polite" : "off";
		const place = anchor && [...children].find(({ key }) => key === anchor.key);
		if (place) log.scrollTop = place.offsetTop - distance;
		this.#settle();
	}

	/** Keeps the end in sight, or says how much came below. */
	#settle() {
		const all = this.#chat?.messages ?? [];
		if (this.#follows) {
			this.#log.scrollTop = this.#log.scrollHeight;
			this.#seen = all.at(-1);
		}
		const count = all.length - 1 - all.indexOf(this.#seen);
		$("new-messages").hidden = this.#follows;
		$("new-messages").textContent = count ? `${count} new ↓` : "To the end ↓";
	}

	get #below() {
		const { scrollHeight, scrollTop, clientHeight } = this.#log;
		return scrollHeight - scrollTop - clientHeight;
	}

	#scrolled() {
		if (!this.#chat) return;
		const all = this.#chat.messages;
		const first = all.indexOf(this.#top);
		const rest = all.length - first - this.#count;
		this.#follows = rest <= 0 && this.#below < 48;
		if (this.#log.scrollTop < NEAR && first > 0) this.#move(first - STEP, MOST);
		else if (this.#below < NEAR && rest > 0) this.#move(Math.max(first, first + this.#count + STEP - MOST), MOST);
		else this.#settle();
	}

	#move(first, count) {
		this.#top = this.#chat.messages[Math.max(0, first)];
		this.#count = count;
		this.#follows = false;
		this.render();
	}

	/** Puts a message that many pixels below the top. */
	#reveal(message, distance) {
		this.#move(this.#chat.messages.indexOf(message) - STEP, MOST);
		const row = [...this.#log.children].find(({ key }) => key === message.key);
		if (row) this.#log.scrollTop = row.offsetTop - distance;
		this.#scrolled();
	}

	#row(message, before) {
		const { at, from, key, own, remark } = message;
		const isNewDay = !before || midnight(before.at) !== midnight(at);
		const isMarked = this.#chat.marker === key;
		const isFirst = isNewDay || isMarked || before.from.user !== from.user || before.remark || at - before.at > PAUSE;
		const person = own ? { label: "You" } : this.model.person(this.#chat, from);
		const date = isNewDay && day(at);
		const isHit = message === this.#hit;
		const sign = [person.label, person.verified, date, isMarked, isFirst, isHit, message.isWhole, this.#query].join();
		return [key, sign, () => Object.assign(el("div", { "data-message": key },
			date && el("p.day", date), isMarked && el("p.unread", { id: "unread" }, "New messages"),
			remark ? this.#remark(remark, person) : this.#bubble(message, person, isFirst, isHit)), { message })];
	}

	#bubble(message, { label, verified }, isFirst, isHit) {
		const { at, delayed, isMention, isWhole, own } = message;
		const action = deed(message.text);
		const text = action ?? message.text;
		const start = text.split("\n").slice(0, LINES).join("\n").slice(0, LONGEST);
		const isLong = !isWhole && start !== text;
		const showAll = () => {
			message.isWhole = true;
			this.render();
		};
		const kinds = { own, first: isFirst, mention: isMention, deed: action, hit: isHit };
		return el(["article", ...Object.keys(kinds).filter((kind) => kinds[kind])].join("."),
			!own && (isFirst || action) ? el("h2.by", bdi(label), verified && icon("shield", "verified")) : unseen(`${label}: `),
			el("div.bubble", el("p.text", { dir: "auto" }, this.#words(isLong ? `${start}…` : text)),
				isLong && el("button.all", { onclick: showAll }, "Show all"),
				el("small.meta", isMention && "for you · ", delayed && "came late · ", clock(at))),
			own && el("small.outcome"));
	}

	/** Returns a text as nodes, with links and what the user searches. */
	#words(text) {
		return pieces(text).flatMap((piece) => {
			if (piece.href) return link(piece);
			const found = this.#query ? piece.text.match(this.#query) ?? [] : [];
			const rest = this.#query ? piece.text.split(this.#query) : [piece.text];
			return rest.flatMap((part, index) => [part, found[index] && el("mark", found[index])]);
		});
	}

	#remark({ text, user, known, verified }, { label }) {
		if (!user) return el("p.remark", lines(text));
		const old = this.#chat.people.get(known)?.label;
		return el("div.remark.warning", icon("warning"), el("p", bdi(label), " is not the ", bdi(old ?? "person"),
			` you ${verified ? "verified" : "know"}: the key is different. It may be a new device, or somebody else with that name. `
			+ "Share nothing secret until you have compared fingerprints."),
		el("button", { onclick: () => this.actions.compare(user) }, "Compare"));
	}

	/** Writes the outcome of an own message. */
	#fill(row) {
		const { message } = row;
		const [text, isBad] = this.#outcome(message);
		const outcome = row.querySelector(".outcome");
		outcome.replaceChildren(text);
		outcome.classList.toggle("bad", !!isBad);
		if (isBad && !message.isRetried) {
			outcome.append(" ", el("button", { onclick: () => this.actions.retry(message) }, "Try again"));
		}
		row.version = message.version;
	}

	/** Returns the words for the outcome of an own message, and whether it may have failed. */
	#outcome({ state, to, delivered, failed, error }) {
		if (state === "sending") return ["Sending…"];
		if (state === "unknown") return ["Not known: the connection ended before an answer.", true];
		if (state === "refused") return [`Not sent: ${plain(error, 300)}`, true];
		if (to === 0) return ["Nobody was here to receive it.", true];
		const some = delivered.size ? `Delivered to ${delivered.size} of ${to}` : "";
		if (failed.size) {
			const people = [...failed].slice(0, 3)
				.map(([user, why]) => `${this.model.person(this.#chat, { user }).label} (${WHY[why] ?? why})`);
			if (failed.size > 3) people.push(`${failed.size - 3} more`);
			return [`${some && `${some}. `}May not have reached ${people.join(", ")}.`, true];
		}
		if (delivered.size < to) return [some || "On its way"];
		return [to > 1 ? `Delivered to all ${to}` : to ? "Delivered" : "Sent"];
	}
}
