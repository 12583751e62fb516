// What stands around the conversation: chats, people, the header, who types, notices, and the title.

import { $, avatar, bdi, dots, el, icon, sync, unseen } from "./dom.js";
import { ago, groups, isolate, plain, typing } from "./text.js";

/** The shortest time between two announcements of who types, in milliseconds. */
const PAUSE = 2000;
const here = (count, nobody) => !count ? nobody : count === 1 ? "1 person is here" : `${count} people are here`;
const write = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };

export function presence({ presence, lastSeen, blocked }, isMuted) {
	const there = { online: "Active now", away: "Away" }[presence] ?? `Last seen ${lastSeen ? ago(lastSeen) : "recently"}`;
	return `${there}${blocked ? " · blocked" : ""}${isMuted ? " · muted" : ""}`;
}

/** Returns the warning about somebody whom readers could take for another person. */
export function lookalike({ people }, { namesakes = [], namesake, verified }) {
	if (verified || !namesakes.length) return "";
	const name = namesake?.names?.[0] ?? people.get(namesakes[0])?.name ?? "person";
	return `Not the ${plain(name, 40)} you ${namesake?.verified ? "verified" : "know"}`;
}

export class View {
	#spoken = "";
	#timer;
	#isQuiet = false;

	constructor(model) {
		this.model = model;
	}

	render() {
		const { model } = this;
		const { open, self, notices, unread, isReady } = model;
		sync($("chats"), [...model.chats.values()].map((chat) => this.#chat(chat)));
		sync($("people"), open ? this.#people(open) : []);
		sync($("notices"), [...notices].map(([code, text]) => [code, text, () => el("p", { role: "status" },
			el("span", { dir: "auto" }, plain(text, 400)),
			el("button.icon", { "aria-label": "Dismiss", onclick: () => notices.delete(code) && this.render() }, "×"))]));
		const name = plain(self.name, 64) || self.user;
		sync($("you-avatar"), [[name, "", () => avatar(name)]]);
		write("you-name", name);
		write("you-state", isReady ? self.away ? "Away" : "Active" : "Not connected");
		write("you-id", groups(self.user));
		$("away").checked = self.away;
		$("no-chats").hidden = !isReady || model.chats.size > 0;
		$("chat").hidden = $("people-pane").hidden = !open;
		$("welcome").hidden = !!open;
		$("send").disabled = !isReady;
		const title = open ? `${isolate(plain(open.name, 64))} – ` : "";
		document.title = `${unread ? `(${unread}) ` : ""}${title}Inkling`;
		if (open) this.#header(open);
		this.typing();
	}

	/** Shows who types in the open chat. */
	typing() {
		const text = this.#typing(this.model.open);
		write("typing-text", text);
		$("typing").classList.toggle("on", text !== "");
		if (!this.#isQuiet) this.#announce();
	}

	#announce() {
		this.#isQuiet = false;
		const text = $("typing-text").textContent;
		if (text === this.#spoken) return;
		this.#spoken = text;
		write("announce", text);
		this.#isQuiet = true;
		setTimeout(() => this.#announce(), PAUSE);
	}

	/** Returns the daemon's own words for who types, unless a label or a muted person changes them. */
	#typing(chat) {
		if (!chat) return "";
		const { users, text } = chat.typing;
		const people = this.model.typists(chat);
		const isPlain = people.length === users.length && people.every(({ label, name }) => label === name);
		return isPlain && /^[ -~]+$/.test(text) ? text : typing(people.map(({ label }) => label));
	}

	#chat(chat) {
		const { name, unread, isSecret } = chat;
		const { current } = this.model;
		const isCurrent = name === current;
		const types = this.#typing(chat);
		const last = chat.messages.at(-1);
		const author = last && (last.own ? "You" : last.from.label);
		const said = last && !last.remark ? `${isolate(author)}: ${plain(last.text.slice(0, 200), 80)}`
			: here(this.model.present(chat), "Nobody else is here");
		return [name, [unread, isSecret, isCurrent, types, said].join(), () => el("li",
			el("button.chat", { "data-chat": name, "aria-current": isCurrent }, avatar(name),
				el("span.two", el("span.line", bdi(plain(name, 64), "bdi.name"), isSecret && icon("lock", "private")),
					types ? el("small.preview.types", dots(), bdi(types)) : el("small.preview", bdi(said))),
				unread && el("span.badge", String(unread), unseen(" unread"))))];
	}

	#people(chat) {
		const types = this.model.typists(chat).map(({ user }) => user);
		return this.model.people(chat).map((person) => {
			const { user, label, verified } = person;
			const state = presence(person, this.model.muted.has(user));
			const warning = lookalike(chat, person);
			const isTyping = types.includes(user);
			return [user, [label, state, verified, warning, isTyping].join(), () => el(`li.${person.presence}`,
				el("button.person", { "data-user": user }, avatar(label, el(`span.dot`)),
					el("span.two", el("span.line", bdi(label, "bdi.name"), verified && icon("shield", "verified"),
						isTyping && [dots(), unseen("typing")]),
					el("small", state), warning && el("small.alike", icon("warning"), bdi(warning)))))];
		});
	}

	#header(chat) {
		const { name, isSecret, isLooking, messages, sightings } = chat;
		const count = this.model.present(chat);
		const shown = plain(name, 64);
		write("title", shown);
		write("subtitle", `${isSecret ? "Private" : "Open to this network"} · ${here(count, "nobody else is here")}`);
		$("conversation").ariaLabel = `Messages in ${isolate(shown)}`;
		$("empty").hidden = messages.length > 0;
		const silent = sightings?.found.filter(({ self, linked }) => !self && !linked) ?? [];
		const [where = ""] = silent.flatMap(({ addresses }) => addresses);
		sync($("empty"), [
			count ? "No messages yet." : isLooking ? "Looking for others…" : "Nobody else is here yet.",
			isSecret ? "Others join with this chat's invite: see “Invite others” above."
				: `Others on this network join by the name ${isolate(shown)}, in such a page or with: inkling chat`,
			"Messages reach only people who are here.",
			count || isLooking || !sightings ? ""
				: !sightings.instance ? "Discovery is not available, so others can't find this computer."
				: silent.length ? `${silent.length} found by discovery, without an answer: ${plain(where, 60)}. Run: inkling doctor`
				: "Discovery finds nobody else. If somebody has joined, run on both computers: inkling doctor",
		].map((text, index) => [index, text, () => el("p", { dir: "auto" }, text)]));
	}
}
