/** The parts around the conversation: the lists of chats and people, the header, who types, notices, and the title. */

import { $, avatar, bdi, button, dots, element, icon, reconcile, unseen } from "./dom.js";
import { sorted } from "./model.js";
import { ago, groups, isolate, plain, typing } from "./text.js";

/** The shortest time between two announcements of who types, in milliseconds. */
const PAUSE = 2_000;

/** What a person's presence is in words. */
export function presence({ presence, lastSeen }) {
  if (presence === "online") return "Active now";
  if (presence === "away") return "Away";
  return lastSeen ? `Last seen ${ago(lastSeen)}` : "Last seen recently";
}

/** The warning about a person whom readers could take for another one, or null. */
export function lookalike(chat, { namesakes, namesake, verified }) {
  if (verified || !namesakes?.length) return null;
  const known = namesake?.names?.[0] ?? chat.people.get(namesakes[0])?.name;
  return `Not the ${known ? plain(known, 40) : "person"} you ${namesake?.verified ? "verified" : "know"}`;
}

export class View {
  #model;
  #spoken = "";
  #spokenAt = 0;
  #timer = 0;

  constructor(model) {
    this.#model = model;
  }

  /** Renders what the model changed, but the log. */
  render(changed) {
    if (changed.has("chats") || changed.has("typing")) this.#chats();
    if (changed.has("people") || changed.has("typing") || changed.has("chats")) this.#people();
    if (changed.has("typing") || changed.has("chats")) this.typing();
    if (changed.has("self")) this.#self();
    if (changed.has("notices")) this.#notices();
    this.#header();
    this.#title();
  }

  /** Shows who types in the open chat; quick enough for each line. */
  typing() {
    const chat = this.#model.open;
    const text = chat && this.#model.isReady ? this.#typing(chat) : "";
    if ($("typing-text").textContent === text) return;
    $("typing-text").textContent = text;
    $("typing").classList.toggle("on", text !== "");
    this.#announce(text);
  }

  /** The words for who types: the daemon's own, unless a label or a muted person changes them. */
  #typing(chat) {
    const people = this.#model.typists(chat);
    if (!people.length) return "";
    const isPlain = people.length === chat.typing.users.length && people.every(({ label, name }) => label === name);
    return isPlain && /^[\x20-\x7e]+$/.test(chat.typing.text) ? chat.typing.text : typing(people.map(({ label }) => label));
  }

  #announce(text) {
    const speak = () => {
      this.#timer = 0;
      const now = $("typing-text").textContent;
      if (now === this.#spoken) return;
      this.#spoken = $("announce").textContent = now;
      this.#spokenAt = performance.now();
    };
    if (text === this.#spoken || this.#timer) return;
    const wait = this.#spokenAt ? this.#spokenAt + PAUSE - performance.now() : 0;
    if (wait > 0) this.#timer = setTimeout(speak, wait);
    else speak();
  }

  #chats() {
    const model = this.#model;
    const chats = [...model.chats.values()];
    const preview = (chat) => {
      const text = this.#typing(chat);
      if (text) return { text, isTyping: true };
      const last = chat.messages.at(-1);
      if (last?.kind === "message") {
        const author = last.own ? "You" : model.person(chat, last.from).label;
        return { text: `${isolate(author)}: ${plain(last.text.replace(/^\/me /, ""), 80)}` };
      }
      const count = model.present(chat);
      return { text: count === 0 ? "Nobody else is here" : count === 1 ? "1 person is here" : `${count} people are here` };
    };
    reconcile($("chats"), chats, {
      key: (chat) => chat.name,
      sign: (chat) => [chat.unread, chat.isSecret, chat.name === model.current, preview(chat).isTyping, preview(chat).text].join("|"),
      make: (chat) => {
        const made = element("li", {}, button("chat", { "data-chat": chat.name }));
        return made;
      },
      update: (item, chat) => {
        const place = item.firstElementChild;
        const { text, isTyping } = preview(chat);
        if (chat.name === model.current) place.setAttribute("aria-current", "true");
        else place.removeAttribute("aria-current");
        place.replaceChildren(
          avatar(chat.name),
          element("span", { class: "two" },
            element("span", { class: "line" }, bdi(plain(chat.name, 64), "name"),
              chat.isSecret ? icon("lock", "private") : null),
            element("small", { class: isTyping ? "preview typing" : "preview" }, isTyping ? dots() : null, bdi(text))),
          ...chat.unread ? [element("span", { class: "badge" }, String(chat.unread), unseen(" unread"))] : []);
      },
    });
    $("no-chats").hidden = chats.length > 0 || !model.isReady;
  }

  #people() {
    const chat = this.#model.open;
    const types = new Set(chat ? this.#model.typists(chat).map(({ user }) => user) : []);
    const state = (person) => [presence(person), person.blocked && "blocked", this.#model.muted.has(person.user) && "muted"]
      .filter(Boolean).join(" · ");
    reconcile($("people"), chat ? sorted(chat.people.values()) : [], {
      key: ({ user }) => user,
      sign: (person) => [person.label, state(person), person.verified, lookalike(chat, person), types.has(person.user)].join("|"),
      make: ({ user }) => element("li", {}, button("person", { "data-user": user, "aria-haspopup": "dialog" })),
      update: (item, person) => {
        const warning = lookalike(chat, person);
        item.className = person.presence;
        item.firstElementChild.replaceChildren(
          avatar(person.label, element("span", { class: `dot ${person.presence}` })),
          element("span", { class: "two" },
            element("span", { class: "line" }, bdi(person.label, "name"),
              person.verified ? icon("shield", "verified") : null, types.has(person.user) ? dots() : null,
              types.has(person.user) ? unseen("typing") : null),
            element("small", {}, state(person)),
            warning ? element("small", { class: "alike" }, icon("warning"), bdi(warning)) : null));
      },
    });
  }

  #header() {
    const { open, isReady } = this.#model;
    $("chat").hidden = !open;
    $("welcome").hidden = open !== null;
    $("people-pane").hidden = !open;
    $("send").disabled = !isReady;
    if (!open) return this.#empty(null);
    const count = this.#model.present(open);
    const people = count === 0 ? "nobody else is here" : count === 1 ? "1 person is here" : `${count} people are here`;
    $("title").textContent = plain(open.name, 64);
    $("subtitle").textContent = open.isSecret ? `Private · ${people}` : `Open to this network · ${people}`;
    $("conversation").setAttribute("aria-label", `Messages in ${isolate(open.name)}`);
    this.#empty(count === 0 && isReady ? open : null);
  }

  /** Says who could come in, and how, while the user is alone. */
  #empty(chat) {
    const isEmpty = chat !== null && chat.messages.length === 0;
    $("empty").hidden = !isEmpty;
    if (!isEmpty) return;
    const { found = [], instance } = chat.sightings ?? {};
    const others = found.filter(({ self }) => !self);
    const silent = others.filter(({ linked }) => !linked);
    const lines = [
      chat.isLooking ? "Looking for others…" : "Nobody else is here yet.",
      chat.isSecret
        ? "Others join with this chat’s invite: press the plus above."
        : `Others on this network join by the name ${isolate(plain(chat.name, 64))}: with “New chat” in this page, or with inkling chat.`,
      "Messages reach only people who are here.",
    ];
    if (chat.sightings && !chat.isLooking) {
      if (instance === undefined) lines.push("Discovery is off or not available, so nobody finds this computer by itself.");
      else if (silent.length) {
        const where = silent.flatMap(({ addresses }) => addresses).slice(0, 3).join(", ");
        lines.push(`Discovery sees ${silent.length} ${silent.length === 1 ? "computer that does" : "computers that do"} not answer${where && ` (${plain(where, 120)})`}. A firewall may be in the way: run inkling doctor there and here.`);
      } else lines.push("Others can discover this computer, and it sees nobody. If they have joined but don’t appear, run inkling doctor on both.");
    }
    if ($("empty").textContent === lines.join("")) return;
    $("empty").replaceChildren(...lines.map((line) => element("p", { dir: "auto" }, line)));
  }

  #self() {
    const { name: own, user, away } = this.#model.self;
    const shown = plain(own, 64) || user;
    $("you-name").textContent = shown;
    $("you-state").textContent = !this.#model.isReady ? "Not connected" : away ? "Away" : "Active";
    $("you-avatar").replaceWith(Object.assign(avatar(shown), { id: "you-avatar" }));
    $("you-id").textContent = groups(user);
    $("away").checked = away;
  }

  #notices() {
    const { notices } = this.#model;
    $("notices").replaceChildren(...[...notices].map(([code, text]) => {
      const dismiss = button("icon", { "aria-label": "Dismiss" }, icon("close"));
      dismiss.addEventListener("click", () => {
        notices.delete(code);
        this.#notices();
      });
      return element("p", { role: "status", "data-code": code }, element("span", { dir: "auto" }, plain(text, 400)), dismiss);
    }));
  }

  #title() {
    const { unread, current } = this.#model;
    document.title = `${unread ? `(${unread}) ` : ""}${current ? `${isolate(plain(current, 64))} – ` : ""}Inkling`;
  }
}
