/** The dialogs: new chat, join by invite, invite others, the user's own state, a person, and questions. */

import { $, bdi, button, element, icon, squares } from "./dom.js";
import { qr } from "./qr.js";
import { groups, isolate, plain } from "./text.js";
import { lookalike, presence } from "./view.js";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** The questions for names that stand for two chats. */
const CONFIRM = {
  "private-name": ["You were in a private chat of this or a similar name. The open chat can be read by anybody on this network. To enter the private one, use its invite.", "Join the open chat"],
  "names-unknown": ["Inkling can’t read its list of private names, so this name may belong to a private chat. The open chat can be read by anybody on this network.", "Join the open chat"],
  "open-name": ["This private chat has the name of an open chat of yours, or of the default chat. You could take one for the other.", "Join the private chat"],
};

/** A new secret: 16 random bytes in base32 (W-7). */
function secret() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("").padEnd(130, "0");
  return bits.match(/.{5}/g).map((digits) => BASE32[parseInt(digits, 2)]).join("");
}

/** Shows an error beside a field, or removes it. */
function complain(id, text = "") {
  $(id).textContent = plain(text, 500);
}

export class Dialogs {
  #model;
  #daemon;
  #enter;
  #changed;
  #person = null;

  /** @param enter opens a chat; `changed` renders what the model changed. */
  constructor(model, daemon, { enter, changed }) {
    this.#model = model;
    this.#daemon = daemon;
    this.#enter = enter;
    this.#changed = changed;
    for (const close of document.querySelectorAll("dialog .close")) {
      close.addEventListener("click", () => close.closest("dialog").close());
    }
    for (const form of document.querySelectorAll("dialog form")) {
      form.addEventListener("submit", (event) => event.preventDefault());
    }
    const on = (id, act) => $(id).addEventListener($(id).tagName === "FORM" ? "submit" : "click", act);
    on("new-chat", () => this.#open("new"));
    on("join-invite", () => this.#open("join"));
    on("new-form", () => this.#create());
    on("join-form", () => this.#join({ invite: $("join-text").value.trim() }, "join"));
    on("you", () => this.#you());
    on("name-form", () => this.#rename());
    on("away", () => this.#daemon.request({ do: $("away").checked ? "away" : "back" }));
    on("invite-open", () => this.invite());
    on("invite-copy", () => this.#copy());
    on("invite-show", () => this.#showCode());
    on("leave", () => this.#leave());
    on("match", () => this.#verify(true));
    on("no-match", () => this.#verify(false));
    on("mute", () => this.#mute());
    on("block", () => this.#block(this.#person));
    $("people").addEventListener("click", ({ target }) => {
      const user = target.closest("[data-user]")?.dataset.user;
      if (user) this.person(user);
    });
  }

  /** Asks the user; resolves to whether the answer is yes. */
  ask(text, yes) {
    const dialog = $("dialog-ask");
    $("ask-text").textContent = text;
    $("ask-yes").textContent = yes;
    return new Promise((resolve) => {
      $("ask-yes").onclick = () => dialog.close("yes");
      $("ask-no").onclick = () => dialog.close("no");
      dialog.onclose = () => resolve(dialog.returnValue === "yes");
      dialog.returnValue = "";
      dialog.showModal();
    });
  }

  #open(name) {
    complain(`${name}-error`);
    $(`dialog-${name}`).showModal();
  }

  #create() {
    const chat = $("new-name").value.trim().normalize();
    this.#join($("new-private").checked ? { chat, secret: secret() } : { chat }, "new");
  }

  async #join(chat, form) {
    const submit = $(`${form}-submit`);
    const request = { do: "join", ...chat, open: false, keep: true };
    submit.disabled = true;
    complain(`${form}-error`);
    let answer = await this.#daemon.request(request);
    const question = CONFIRM[answer.code];
    if (question && await this.ask(...question)) answer = await this.#daemon.request({ ...request, confirm: true });
    submit.disabled = false;
    if (answer.on === "error") {
      if (!question) complain(`${form}-error`, answer.text);
      return;
    }
    $(`dialog-${form}`).close();
    $(`${form}-form`).reset();
    await this.#enter(answer.chat);
    if (chat.secret) this.invite();
  }

  /** Shows how others come into the open chat. */
  async invite() {
    const { open } = this.#model;
    if (!open) return;
    const answer = await this.#daemon.request({ do: "invite", chat: open.name });
    if (answer.on === "error") return this.ask(plain(answer.text, 400), "OK");
    const { invite } = answer;
    $("invite-how").textContent = invite
      ? "This invite has the chat’s secret. Pass it on through a channel that you trust: anybody who has it can join and read."
      : `This chat is open. Anybody on this network joins by its name: with “New chat” in this page, or with inkling chat.`;
    $("invite-label").textContent = invite ? "Invite" : "Name";
    $("invite-text").value = invite ?? open.name;
    $("invite-show").hidden = !invite;
    $("invite-show").textContent = "Show QR code";
    $("invite-qr").replaceChildren();
    $("invite-state").textContent = "";
    $("dialog-invite").showModal();
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText($("invite-text").value);
      $("invite-state").textContent = "Copied. Programs on this computer can read the clipboard.";
    } catch {
      $("invite-text").select();
      $("invite-state").textContent = "The browser does not let this page copy. The text is selected: press Ctrl+C.";
    }
  }

  #showCode() {
    const isShown = $("invite-qr").childElementCount > 0;
    $("invite-show").textContent = isShown ? "Show QR code" : "Hide QR code";
    $("invite-qr").replaceChildren(...isShown ? [] : [squares(qr($("invite-text").value), "QR code of the invite")]);
  }

  async #leave() {
    const { name, isSecret } = this.#model.open;
    const text = `Leave ${isolate(plain(name, 64))}? ${isSecret
      ? "To come back, you need its invite: copy it first." : "You can join again by its name."}`;
    if (!await this.ask(text, "Leave")) return;
    const answer = await this.#daemon.request({ do: "leave", chat: name });
    if (answer.on === "error") this.ask(plain(answer.text, 400), "OK");
  }

  async #you() {
    $("name").value = this.#model.self.name;
    complain("name-error");
    this.#blocked();
    $("dialog-you").showModal();
    await this.#daemon.request({ do: "people", blocked: true });
    this.#blocked();
  }

  #blocked() {
    const { blocked } = this.#model;
    $("blocked").hidden = blocked.length === 0;
    $("blocked-people").replaceChildren(...blocked.map(({ key, user, names }) => {
      const undo = button("", {}, "Unblock");
      undo.addEventListener("click", async () => {
        await this.#settle({ do: "unblock", key }, { blocked: false });
        this.#blocked();
      });
      return element("li", {}, bdi(plain(names?.[0], 40) || user), undo);
    }));
  }

  async #rename() {
    const answer = await this.#daemon.request({ do: "nick", name: $("name").value.trim().normalize() });
    complain("name-error", answer.on === "error" ? answer.text : "");
    if (answer.on !== "error") $("dialog-you").close();
  }

  /** Shows a person of the open chat, and what to compare with them. */
  async person(user) {
    const person = this.#model.open?.people.get(user);
    if (!person) return;
    this.#person = person;
    $("own-id").textContent = groups(this.#model.self.user);
    $("person-id").textContent = groups(user);
    $("fingerprint").replaceChildren();
    complain("person-error");
    this.#fill();
    $("dialog-person").showModal();
    const answer = await this.#daemon.request({ do: "fingerprint", key: person.key });
    if (this.#person !== person) return;
    if (answer.on === "error") complain("person-error", answer.text);
    else $("fingerprint").replaceChildren(...answer.groups.map((group) => element("li", {}, group)));
  }

  #fill() {
    const person = this.#model.open?.people.get(this.#person.user) ?? this.#person;
    const warning = lookalike(this.#model.open, person);
    this.#person = person;
    $("person-name").textContent = person.label;
    $("person-state").replaceChildren(
      ...person.verified ? [icon("shield"), "Verified · "] : ["Not verified · "], presence(person),
      person.names?.length > 1 ? ` · earlier names: ${person.names.slice(1).map((name) => isolate(plain(name, 40))).join(", ")}` : "");
    $("person-warning").hidden = !warning;
    $("person-warning").textContent = `${warning}. Share nothing secret until the fingerprints match.`;
    $("mute").textContent = this.#model.muted.has(person.user) ? "Unmute" : "Mute";
    $("block").textContent = person.blocked ? "Unblock" : "Block";
    $("no-match").textContent = "They don’t";
  }

  async #verify(isRight) {
    const { key } = this.#person;
    if (await this.#settle({ do: isRight ? "verify" : "unverify", key }, { verified: isRight })) {
      this.#fill();
      complain("person-error", isRight ? "" :
        "Then somebody may pretend to be this person. Share nothing secret here, and ask them through another channel.");
    }
  }

  #mute() {
    const { user } = this.#person;
    const isMuted = this.#model.muted.has(user);
    const count = this.#model.mute(user, !isMuted);
    this.#fill();
    complain("person-error", isMuted
      ? `No longer muted: ${count} ${count === 1 ? "message" : "messages"} not shown meanwhile.`
      : "Muted in this tab until you close it. They notice nothing.");
    this.#changed();
  }

  async #block(person) {
    const { key, label, verified, blocked } = person;
    const text = `Block ${isolate(label)}? You and they see nothing of each other any more, in all chats and for good.`;
    if (!blocked && !await this.ask(verified ? `You verified this person. ${text}` : text, "Block")) return;
    if (await this.#settle({ do: blocked ? "unblock" : "block", key }, { blocked: !blocked })) this.#fill();
  }

  /** Asks the daemon for a change of what is known of a key, and applies the change. */
  async #settle(request, change) {
    const answer = await this.#daemon.request(request);
    complain("person-error", answer.on === "error" ? answer.text : "");
    if (answer.on === "error") return false;
    this.#model.know(request.key, change);
    await this.#daemon.request({ do: "people", blocked: true });
    this.#changed();
    return true;
  }
}
