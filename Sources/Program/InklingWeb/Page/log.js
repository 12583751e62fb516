/**
 * The conversation: a window of rows into the chat's messages. The window moves with the scrolling, so the document
 * holds at most `MOST` rows of 10,000 messages. The text that the user reads never moves by itself.
 */

import { $, bdi, button, element, icon, link, unseen } from "./dom.js";
import { clock, day, deed, lines, pieces, plain } from "./text.js";

const MOST = 300;
/** How many rows the window moves at once, and within how many pixels of its end. */
const STEP = 100;
const NEAR = 800;
/** Texts beyond these are folded. */
const LONGEST = 1_200;
const LINES = 20;
/** The longest pause within a group of messages of one author, in seconds. */
const PAUSE = 300;

const WHY = {
  bye: "left", quit: "you left", left: "you left", silence: "out of reach", will: "quit", stalled: "did not answer",
  full: "too many links", "lost-state": "connection lost", replaced: "restarted", blocked: "blocked",
};

export class Log {
  #model;
  #actions;
  #chat = null;
  #rows = new Map();
  /** The first message of the window, and how many it has. */
  #top = null;
  #count = 0;
  /** Whether the end of the conversation is in sight, and stays there. */
  #follows = true;
  /** The last message that was in sight while it did. */
  #seen = null;
  #query = null;
  #hit = null;
  #log = $("conversation");

  /** @param actions `retry(message)` and `compare(user)`, for the buttons in rows. */
  constructor(model, actions) {
    this.#model = model;
    this.#actions = actions;
    this.#log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#log.addEventListener("keydown", (event) => this.#key(event));
    $("new-messages").addEventListener("click", () => this.follow());
    new ResizeObserver(() => this.#settle()).observe(this.#log);
  }

  /** Shows another chat, or the same one after it was out of sight: at its first unread message, or at its end. */
  enter(chat) {
    if (this.#chat !== chat) {
      this.#log.replaceChildren();
      this.#rows.clear();
      this.#chat = chat;
      this.search(null);
    }
    this.follow();
    this.toMarker();
  }

  /** Goes to the marker of unread messages, if there is one. */
  toMarker() {
    const marked = this.#chat?.marker && this.#chat.byKey.get(this.#chat.marker);
    if (marked) this.#reveal(marked, (row) => row.offsetTop - 8);
  }

  /** Goes to the end, and stays there while messages come. */
  follow() {
    this.#follows = true;
    this.render();
  }

  /** Highlights a text. Returns the messages that have it, the oldest first. */
  search(text) {
    this.#hit = null;
    this.#query = text ? new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "giu") : null;
    const found = text ? this.#chat.messages.filter((message) => message.text.search(this.#query) >= 0) : [];
    this.render();
    return found;
  }

  /** Brings a found message into sight. */
  go(message) {
    this.#hit = message.key;
    message.isWhole = true;
    message.version += 1;
    this.#reveal(message, (row) => row.offsetTop - this.#log.clientHeight / 3);
  }

  /** Makes the rows follow the model. */
  render() {
    const chat = this.#chat;
    if (!chat) return;
    const all = chat.messages;
    const anchor = this.#follows ? null : this.#anchor();
    const [first, last] = this.#window(all);
    // Rows of the past are not news for a screen reader.
    this.#log.setAttribute("aria-live", this.#follows && this.#rows.size ? "polite" : "off");
    const kept = new Map();
    let next = this.#log.firstElementChild;
    for (let index = first; index < last; index += 1) {
      const message = all[index];
      const row = this.#row(message, all[index - 1]);
      kept.set(message.key, row);
      this.#rows.delete(message.key);
      if (row.element === next) next = next.nextElementSibling;
      else this.#log.insertBefore(row.element, next);
    }
    for (const { element } of this.#rows.values()) element.remove();
    this.#rows = kept;
    if (anchor) {
      const row = kept.get(anchor.key);
      if (row) this.#log.scrollTop = row.element.offsetTop - anchor.distance;
    }
    this.#settle();
  }

  #window(all) {
    if (this.#follows) {
      const isNear = this.#top && this.#count && all.indexOf(this.#top) >= all.length - MOST;
      this.#top = isNear ? this.#top : all[Math.max(0, all.length - STEP)] ?? null;
      this.#count = all.length;
    }
    const first = Math.max(0, all.indexOf(this.#top));
    if (!this.#follows && first + this.#count < all.length) this.#count = Math.max(this.#count, MOST - STEP);
    const last = Math.min(all.length, first + (this.#follows ? MOST : this.#count));
    this.#count = last - first;
    return [first, last];
  }

  /** Keeps the end in sight, and says how much came below it. */
  #settle() {
    const all = this.#chat?.messages ?? [];
    if (this.#follows) {
      this.#log.scrollTop = this.#log.scrollHeight;
      this.#seen = all.at(-1) ?? null;
    }
    const count = this.#follows ? 0 : all.length - 1 - all.indexOf(this.#seen);
    $("new-messages").hidden = this.#follows || this.#isAtEnd();
    $("new-messages").textContent = count > 0 ? `${count} new ${count === 1 ? "message" : "messages"} ↓` : "To the end ↓";
  }

  #isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#log;
    const all = this.#chat.messages;
    return scrollHeight - scrollTop - clientHeight < 48 && (all.indexOf(this.#top) + this.#count >= all.length);
  }

  #scrolled() {
    if (!this.#chat) return;
    this.#follows = this.#isAtEnd();
    const all = this.#chat.messages;
    const first = Math.max(0, all.indexOf(this.#top));
    const { scrollHeight, scrollTop, clientHeight } = this.#log;
    if (scrollTop < NEAR && first > 0) this.#move(first - STEP);
    else if (scrollHeight - scrollTop - clientHeight < NEAR && first + this.#count < all.length) {
      this.#move(Math.max(first, first + this.#count + STEP - MOST), this.#count + STEP);
    } else this.#settle();
  }

  /** Moves the window to begin at an index; what is in sight stays in its place. */
  #move(index, count = this.#count + STEP) {
    this.#top = this.#chat.messages[Math.max(0, index)] ?? null;
    this.#count = Math.min(MOST, count);
    this.#follows = false;
    this.render();
  }

  /** The first row in sight and its distance from the top. */
  #anchor() {
    const { scrollTop } = this.#log;
    for (const [key, { element }] of this.#rows) {
      if (element.offsetTop + element.offsetHeight > scrollTop) return { key, distance: element.offsetTop - scrollTop };
    }
    return null;
  }

  #reveal(message, place) {
    const index = this.#chat.messages.indexOf(message);
    if (index < 0) return;
    this.#follows = false;
    this.#top = this.#chat.messages[Math.max(0, index - STEP)];
    this.#count = MOST;
    this.render();
    this.#log.scrollTop = place(this.#rows.get(message.key).element);
    this.#follows = this.#isAtEnd();
    this.#settle();
  }

  #key(event) {
    if (event.target !== this.#log || !this.#chat) return;
    if (event.key === "End") this.follow();
    else if (event.key === "Home") {
      this.#move(0, MOST);
      this.#log.scrollTop = 0;
    } else return;
    event.preventDefault();
  }

  #row(message, previous) {
    const { kind, from, own, at, key, version } = message;
    const isDay = !previous || midnight(previous.at) !== midnight(at);
    const isMarked = this.#chat.marker === key;
    const isFirst = isDay || isMarked || previous.kind !== kind || previous.from.user !== from.user
      || previous.own !== own || at - previous.at > PAUSE;
    const person = this.#model.person(this.#chat, from);
    const name = own ? "You" : person.label;
    const isHit = this.#hit === key;
    const sign = [version * !own, message.isWhole, isDay && day(at), isMarked, isFirst, name, person.verified, isHit,
      this.#query].join();
    let row = this.#rows.get(key);
    if (row?.sign !== sign) {
      const made = element("div", { class: "item", "data-message": key },
        isDay ? element("p", { class: "day" }, day(at)) : null,
        isMarked ? element("p", { class: "unread", id: "unread" }, "New messages") : null,
        kind === "message" ? this.#bubble(message, { isFirst, person, name, isHit }) : this.#remark(message, name));
      row?.element.replaceWith(made);
      row = { element: made, sign, version: -1 };
    }
    if (own && row.version !== version) this.#fill(row.element.querySelector(".outcome"), message);
    row.version = version;
    return row;
  }

  #bubble(message, { isFirst, person, name, isHit }) {
    const { own, at, delayed, isMention } = message;
    const action = deed(message.text);
    const isLong = !message.isWhole && (message.text.length > LONGEST || message.text.split("\n").length > LINES);
    const text = element("p", { class: "text", dir: "auto" });
    const shown = action ?? message.text;
    text.append(...this.#words(isLong ? folded(shown) : shown));
    const author = () => [own ? name : bdi(name, "author"), person.verified ? icon("shield", "verified") : null];
    const all = isLong ? button("show-all", {}, "Show all") : null;
    all?.addEventListener("click", () => {
      message.isWhole = true;
      this.render();
    });
    return element("article", {
      class: ["message", own && "own", isFirst && "first", isMention && "mention", action && "deed", isHit && "hit"]
        .filter(Boolean).join(" "),
      "data-own": own ? "true" : undefined,
    },
    own ? unseen("You: ") : isFirst || action ? element("h3", { class: "by" }, ...author()) : unseen(`${name}: `),
    isMention ? unseen("This message has your name. ") : null,
    element("div", { class: "bubble" }, text, all,
      element("small", { class: "meta" }, element("time", { datetime: new Date(at * 1_000).toISOString() }, clock(at)),
        delayed ? " · came late" : null)),
    own ? element("small", { class: "outcome" }) : null);
  }

  /** A text as nodes, with links, and with what the user searches marked. */
  #words(text) {
    return pieces(text).flatMap((piece) => {
      if (piece.href) return [link(piece)];
      if (!this.#query) return [piece.text];
      const nodes = [];
      let end = 0;
      for (const match of piece.text.matchAll(this.#query)) {
        nodes.push(piece.text.slice(end, match.index), element("mark", {}, match[0]));
        end = match.index + match[0].length;
      }
      return [...nodes, piece.text.slice(end)];
    });
  }

  #remark({ text, warning, from }, name) {
    if (!warning) return element("p", { class: "remark" }, lines(text));
    const compare = button("compare", {}, "Compare fingerprints");
    compare.addEventListener("click", () => this.#actions.compare(from.user));
    const known = this.#chat.people.get(warning.known);
    return element("div", { class: "remark warning" }, icon("warning"),
      element("p", {}, bdi(name), ` is not the ${warning.verified ? "person you verified" : "person you know"}`,
        ...known ? [" as ", bdi(known.label)] : [" by that name"],
        ": the key is different. It may be a new device, or somebody else using that name. "
        + "Share nothing secret until you have compared fingerprints."),
      compare);
  }

  /** Writes the outcome of an own message. */
  #fill(place, message) {
    const words = outcome(message, (user) => this.#model.person(this.#chat, { user }).label);
    place.replaceChildren(words.text);
    place.classList.toggle("bad", words.isBad);
    if (!words.isBad || message.isRetried) return;
    const retry = button("retry", {}, "Try again");
    retry.addEventListener("click", () => this.#actions.retry(message));
    place.append(" ", retry);
  }
}

/** The words for the outcome of an own message. */
function outcome({ state, to, delivered, failed, error }, name) {
  if (state === "sending") return { text: "Sending…", isBad: false };
  if (state === "unknown") return { text: "Not known whether it was sent: the connection ended.", isBad: true };
  if (state === "refused") return { text: `Not sent: ${plain(error, 300)}`, isBad: true };
  if (to === 0) return { text: "Nobody was here to receive it.", isBad: true };
  const received = delivered.size ? `Delivered to ${delivered.size} of ${to}` : "";
  if (failed.size) {
    const people = [...failed].slice(0, 3).map(([user, why]) => `${name(user)} (${WHY[why] ?? why})`);
    if (failed.size > 3) people.push(`${failed.size - 3} more`);
    return { text: `${received && `${received}. `}May not have reached ${people.join(", ")}.`, isBad: true };
  }
  if (to === undefined) return { text: "Sent", isBad: false };
  if (delivered.size < to) return { text: received || "On its way", isBad: false };
  return { text: to === 1 ? "Delivered" : `Delivered to all ${to}`, isBad: false };
}

const midnight = (seconds) => new Date(seconds * 1_000).setHours(0, 0, 0, 0);

function folded(text) {
  return `${text.split("\n").slice(0, LINES - 4).join("\n").slice(0, LONGEST - 200)}…`;
}
