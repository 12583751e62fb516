// The dialogs: new chat, join by invite, invite others, the user, a person, and questions.

import { $, bdi, el, icon, svg } from "./dom.js";
import { qr } from "./qr.js";
import { groups, isolate, plain } from "./text.js";
import { lookalike, presence } from "./view.js";

const ANYBODY = "Anybody on this network can read the open chat.";
/** The questions about names that stand for two chats, and the words for yes. */
const QUESTIONS = {
	"private-name": [`A private chat of yours had this or a similar name; to enter it, use its invite. ${ANYBODY}`, "Join the open chat"],
	"names-unknown": [`Inkling can't read its list of private names. This name may be on it. ${ANYBODY}`, "Join the open chat"],
	"open-name": ["An open chat of yours, or the default chat, has this name. Readers could take one for the other.", "Join the private chat"],
};
/** The white border of a QR code, in squares. */
const QUIET = 4;

/** Returns a new secret: 16 bytes in base32 (W-7). */
function secret() {
	const bits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(2).padStart(8, "0")).join("");
	return `${bits}00`.replace(/.{5}/g, (bits) => "abcdefghijklmnopqrstuvwxyz234567"[parseInt(bits, 2)]);
}

/** Shows a text beside a field. */
const complain = (form, { on, text } = {}) => { $(`${form}-error`).textContent = on === "error" ? plain(text, 400) : ""; };
const say = (form, text) => complain(form, { on: "error", text });

export class Dialogs {
	#person;

	/** `enter(name)` opens a chat, and `render()` shows what changed. */
	constructor(model, daemon, page) {
		Object.assign(this, { model, daemon, page });
		for (const close of document.querySelectorAll(".close")) close.onclick = () => close.closest("dialog").close();
		const clicks = {
			"new-chat": () => this.#show("new"), "join-invite": () => this.#show("join"), you: () => this.#you(),
			"invite-open": () => this.invite(), "invite-copy": () => this.#copy(), "invite-show": () => this.#code(),
			leave: () => this.#leave(), match: () => this.#verify(true), "no-match": () => this.#verify(false),
			mute: () => this.#mute(), block: () => this.#block(),
			away: () => daemon.request({ do: $("away").checked ? "away" : "back" }),
		};
		for (const id of Object.keys(clicks)) $(id).onclick = clicks[id];
		const submits = {
			new: () => this.#create(), join: () => this.#join("join", { invite: $("join-text").value.trim() }),
			name: () => this.#rename(),
		};
		for (const id of Object.keys(submits)) {
			$(`${id}-form`).onsubmit = (event) => {
				event.preventDefault();
				submits[id]();
			};
		}
		$("people").onclick = ({ target }) => this.person(target.closest("[data-user]")?.dataset.user);
	}

	/** Asks the user, and resolves to whether the answer is yes. */
	ask(text, yes) {
		const dialog = $("dialog-ask");
		$("ask-text").textContent = text;
		$("ask-yes").textContent = yes;
		dialog.returnValue = "";
		dialog.showModal();
		$("ask-yes").onclick = () => dialog.close("yes");
		return new Promise((resolve) => { dialog.onclose = () => resolve(dialog.returnValue === "yes"); });
	}

	#show(name) {
		complain(name);
		$(`dialog-${name}`).showModal();
	}

	#create() {
		const chat = $("new-name").value.trim().normalize();
		this.#join("new", $("new-private").checked ? { chat, secret: secret() } : { chat });
	}

	async #join(form, chat) {
		const request = { do: "join", ...chat, open: false, keep: true };
		complain(form);
		let answer = await this.daemon.request(request);
		const question = QUESTIONS[answer.code];
		if (question) {
			if (!await this.ask(...question)) return;
			answer = await this.daemon.request({ ...request, confirm: true });
		}
		if (answer.on === "error") return complain(form, answer);
		$(`dialog-${form}`).close();
		$(`${form}-form`).reset();
		await this.page.enter(answer.chat);
		if (chat.secret) this.invite();
	}

	/** Shows how others come into the open chat. */
	async invite() {
		const { name } = this.model.open;
		const { invite } = await this.daemon.request({ do: "invite", chat: name });
		$("invite-how").textContent = invite
			? "Whoever has this invite can join and read. Pass it on through a channel that you trust."
			: "Anybody on this network joins this open chat by its name.";
		$("invite-text").value = invite ?? name;
		$("invite-show").hidden = !invite;
		$("invite-qr").replaceChildren();
		this.#show("invite");
	}

	async #copy() {
		$("invite-text").select();
		await navigator.clipboard.writeText($("invite-text").value).then(
			() => say("invite", "Copied. Other programs can read the clipboard."),
			() => say("invite", "The text is selected. Copy it with Ctrl+C."));
	}

	/** Shows the invite as a QR code, or hides it. */
	#code() {
		const place = $("invite-qr");
		if (place.firstChild) return place.replaceChildren();
		const rows = qr($("invite-text").value);
		const size = rows.length + 2 * QUIET;
		const d = rows.flatMap((row, y) => row.map((isDark, x) => isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : "")).join("");
		place.append(svg("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "QR code of the invite" }, svg("path", { d })));
	}

	async #leave() {
		const { name, isSecret } = this.model.open;
		const back = isSecret ? "Only its invite brings you back: copy it first." : "Its name brings you back.";
		if (await this.ask(`Leave ${isolate(plain(name, 64))}? ${back}`, "Leave")) this.daemon.request({ do: "leave", chat: name });
	}

	async #you() {
		$("name").value = this.model.self.name;
		this.#show("name");
		await this.daemon.request({ do: "people", blocked: true });
		const { blocked } = this.model;
		$("blocked").hidden = !blocked.length;
		$("blocked-people").replaceChildren(...blocked.map(({ key, user, names }) => el("li", bdi(plain(names[0], 40) || user),
			el("button", { onclick: ({ target }) => this.#decide("unblock", key) && target.parentNode.remove() }, "Unblock"))));
	}

	async #rename() {
		const answer = await this.daemon.request({ do: "nick", name: $("name").value.trim().normalize() });
		complain("name", answer);
		if (answer.on !== "error") $("dialog-name").close();
	}

	/** Shows a person of the open chat, and what to compare with them. */
	async person(user) {
		if (!this.model.open?.people.has(user)) return;
		this.#person = user;
		this.#fill();
		$("own-id").textContent = groups(this.model.self.user);
		$("person-id").textContent = groups(user);
		$("fingerprint").replaceChildren();
		this.#show("person");
		const answer = await this.daemon.request({ do: "fingerprint", key: this.#shown.key });
		if (user !== this.#person) return;
		complain("person", answer);
		$("fingerprint").replaceChildren(...(answer.groups ?? []).map((digits) => el("li", digits)));
	}

	get #shown() {
		return this.model.open.people.get(this.#person);
	}

	#fill() {
		const person = this.#shown;
		const { label, verified, names = [], blocked, user } = person;
		const isMuted = this.model.muted.has(user);
		const warning = lookalike(this.model.open, person);
		$("person-name").textContent = label;
		$("person-state").replaceChildren(verified ? icon("shield", "") : "", `${verified ? "Verified" : "Not verified"} · ${presence(person, isMuted)}`,
			names.length > 1 ? ` · once ${names.slice(1).map((name) => isolate(plain(name, 40))).join(", ")}` : "");
		$("person-warning").textContent = warning && `${warning}. Share nothing secret until the digits match.`;
		$("mute").textContent = isMuted ? "Unmute" : "Mute";
		$("block").textContent = blocked ? "Unblock" : "Block";
	}

	async #verify(isRight) {
		if (await this.#decide(isRight ? "verify" : "unverify", this.#shown.key) && !isRight) {
			say("person", "Somebody may pretend to be this person. Share nothing secret, and ask them in another way.");
		}
	}

	#mute() {
		const { muted } = this.model;
		const count = muted.get(this.#person);
		if (!muted.delete(this.#person)) muted.set(this.#person, 0);
		this.#fill();
		say("person", count === undefined ? "Muted in this tab. They don't notice." : `${count} messages came meanwhile, and are not shown.`);
		this.page.render();
	}

	async #block() {
		const { key, label, verified, blocked } = this.#shown;
		const question = `Block ${isolate(label)}${verified ? ", whom you verified" : ""}? In all chats and for good, you see nothing of each other.`;
		if (blocked || await this.ask(question, "Block")) this.#decide(blocked ? "unblock" : "block", key);
	}

	/** Has the daemon store what the user decided about a key. */
	async #decide(decision, key) {
		const answer = await this.daemon.request({ do: decision, key });
		complain("person", answer);
		if (answer.on === "error") return false;
		this.model.know(key, /verify/.test(decision) ? { verified: decision === "verify" } : { blocked: decision === "block" });
		if ($("dialog-person").open) this.#fill();
		this.page.render();
		return true;
	}
}
