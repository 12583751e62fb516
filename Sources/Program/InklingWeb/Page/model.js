/**
 * The state of the page: chats, people, messages. `apply` takes the daemon's lines and changes the state.
 * The model reads no clock, touches no document and sends nothing.
 */

import { label } from "./text.js";

/** The most messages that the page holds of one chat, and how many it drops at once beyond that. */
const MOST = 10_000;
const DROPPED = 500;

/** A chat of this page or of the daemon. */
class Chat {
  people = new Map();
  /** The event `typing` last applied. */
  typing = { users: [], text: "" };
  messages = [];
  /** The messages by the daemon's start and their number: numbers begin again with each run of the daemon. */
  byKey = new Map();
  draft = "";
  unread = 0;
  /** The first message that came while the chat was not shown; then, while it is shown, the one below the marker. */
  firstUnread = null;
  marker = null;
  missed = 0;
  /** Whether this connection has joined the chat, and whether it has read the chat's recent messages. */
  isJoined = false;
  isRecent = false;
  isSecret = false;
  isLooking = false;
  /** The answer to `sightings`, or null. */
  sightings = null;

  constructor(name) {
    this.name = name;
  }
}

export class Model {
  chats = new Map();
  self = { user: "", name: "", key: "", away: false };
  /** The chat in the conversation pane, and the one that is also in sight. */
  current = null;
  shown = null;
  /** The reason why no daemon is connected, or null. */
  lost = null;
  isReady = false;
  notices = new Map();
  blocked = [];
  /** How many messages of each muted person were not shown. */
  muted = new Map();
  /** The parts of the page to render: any of `chats`, `people`, `log`, `typing`, `self`, `notices`. */
  changed = new Set();
  #since = 0;
  #locals = 0;

  chat(name) {
    return this.chats.get(name) ?? null;
  }

  get open() {
    return this.chat(this.current);
  }

  get unread() {
    return [...this.chats.values()].reduce((sum, chat) => sum + chat.unread, 0);
  }

  /** Applies a line; `request` is the request that the line answers, if it answers one. */
  apply(line, request) {
    const chat = this.chat(line.chat ?? request?.chat);
    const { on } = line;
    if (on === "ready") this.#begin(line);
    else if (on === "status" || on === "chats") this.#list(line);
    else if (on === "self") this.#own(line);
    else if (on === "peer") this.#meet(this.#enter(line.chat), line);
    else if (on === "typing") this.#type(this.#enter(line.chat), line);
    else if (on === "message") this.#receive(this.#enter(line.chat), line);
    else if (on === "recent" && chat) this.#recall(chat, line.messages);
    else if (on === "sent" && chat) this.#sent(chat, line, request);
    else if ((on === "delivered" || on === "failed") && chat) this.#settle(chat, line);
    else if (on === "missed" && chat) this.#miss(chat, line);
    else if (on === "notice") this.#notice(line);
    else if (on === "people") this.#change("self", () => { this.blocked = line.people; });
    else if (on === "sightings" && chat) this.#change("log", () => { chat.sightings = line; });
    else if (on === "who" && chat) for (const person of line.peers) this.#meet(chat, person);
    else if (on === "ok" && request) this.#done(line, request);
    else if (on === "error" && request?.do === "send") this.#refuse(chat, line, request);
    else if (on === "inkling-web") this.#bridge(line);
  }

  /** Makes a chat the one in sight, or none: what came meanwhile is below the marker, and read. */
  show(name) {
    this.shown = name;
    const chat = this.chat(name);
    if (!chat) return;
    chat.marker = chat.firstUnread;
    chat.firstUnread = null;
    chat.unread = 0;
    this.changed.add("chats").add("log");
  }

  /** Adds the user's message before its `send`, and returns it. */
  compose(chat, text, at) {
    const message = this.#made(`local/${++this.#locals}`, { at, text, own: true, from: this.self });
    message.state = "sending";
    chat.marker = null;
    this.#append(chat, message);
    return message;
  }

  /** Records that the connection ended: requests without an answer get none any more. */
  disconnect() {
    this.isReady = false;
    for (const chat of this.chats.values()) {
      this.#type(chat, { users: [], text: "" });
      chat.isJoined = chat.isRecent = false;
      for (const message of chat.messages) {
        if (message.state === "sending") this.#mark(message, () => { message.state = "unknown"; });
      }
    }
  }

  /** Applies a change of verification or blocking to the person in all chats. */
  know(key, change) {
    for (const { people } of this.chats.values()) {
      for (const person of people.values()) {
        if (person.key === key) person.label = label(Object.assign(person, change));
      }
    }
    this.changed.add("people").add("log");
  }

  /** Mutes a person in this tab, or ends that and returns how many messages were not shown. */
  mute(user, isMuted) {
    const count = this.muted.get(user) ?? 0;
    if (isMuted) this.muted.set(user, 0);
    else this.muted.delete(user);
    for (const name of ["people", "chats", "typing"]) this.changed.add(name);
    return count;
  }

  /** The people of a chat who type, without muted ones, the latest start first. */
  typists(chat) {
    return chat.typing.users.filter(({ user }) => !this.muted.has(user)).map((user) => this.person(chat, user));
  }

  /** What is known of a message's author or of a typist, with a label. */
  person(chat, from) {
    return chat.people.get(from.user) ?? { label: label(from), ...from };
  }

  present(chat) {
    return [...chat.people.values()].filter(({ presence }) => presence !== "offline").length;
  }

  #change(part, change) {
    change();
    this.changed.add(part);
  }

  #mark(message, change) {
    change();
    message.version += 1;
    this.changed.add("log");
  }

  #enter(name) {
    let chat = this.chat(name);
    if (!chat) {
      chat = new Chat(name);
      this.chats.set(name, chat);
      this.changed.add("chats");
    }
    return chat;
  }

  #begin({ user, name, key }) {
    this.disconnect();
    this.self = { user, name, key, away: false };
    this.lost = null;
    this.isReady = true;
    this.notices.clear();
    for (const chat of this.chats.values()) {
      for (const person of chat.people.values()) person.presence = "offline";
    }
    for (const part of ["self", "people", "notices", "chats", "log", "typing"]) this.changed.add(part);
  }

  #list({ chats, since, away }) {
    if (since !== undefined) this.#since = since;
    if (away !== undefined) this.#change("self", () => { this.self.away = away; });
    const names = new Set(chats.map(({ chat }) => chat));
    for (const name of this.chats.keys()) if (!names.has(name)) this.chats.delete(name);
    for (const { chat: name, secret, waiting, looking } of chats) {
      const chat = this.#enter(name);
      chat.isSecret = secret;
      chat.isLooking = looking === true;
      if (name === this.shown) continue;
      chat.unread = waiting;
      if (!waiting) chat.firstUnread = null;
    }
    this.changed.add("chats").add("people").add("log");
  }

  #own({ name, away }) {
    this.self.name = name;
    this.self.away = away;
    this.changed.add("self").add("log");
  }

  #meet(chat, { user, name, presence, key, verified, blocked, lastSeen, firstSeen, onlineSince, names, namesake,
    namesakes, at }) {
    const person = { user, name, presence, key, verified, blocked, firstSeen, onlineSince, names, namesake, namesakes };
    person.lastSeen = lastSeen ?? (presence === "offline" ? at : undefined);
    person.label = label(person);
    chat.people.set(user, person);
    this.changed.add("people").add("chats").add("log").add("typing");
  }

  #type(chat, { users, text }) {
    if (!users.length && !chat.typing.users.length) return;
    chat.typing = { users, text };
    this.changed.add("typing");
  }

  #receive(chat, line) {
    const message = this.#made(this.#key(line), line);
    const known = chat.byKey.get(message.key);
    const isOwn = line.own === true;
    if (!isOwn && this.muted.has(line.from.user)) {
      if (!known) this.muted.set(line.from.user, this.muted.get(line.from.user) + 1);
      return;
    }
    if (!known) this.#append(chat, message);
    if (isOwn) return;
    if (this.shown !== chat.name) {
      if (!known) chat.unread += 1;
      chat.firstUnread ??= message.key;
    } else if (line.waited) {
      chat.marker ??= message.key;
      this.#mark(known ?? message, () => {});
    }
    this.changed.add("chats");
  }

  /** Merges the daemon's last messages of a chat with those that the page has. */
  #recall(chat, lines) {
    const last = chat.messages.at(-1)?.at ?? 0;
    let isLate = false;
    for (const line of lines) {
      const key = this.#key(line);
      let known = chat.byKey.get(key);
      if (!known && line.own) known = this.#recognise(chat, line, key);
      if (known) {
        if (line.own) this.#mark(known, () => { Object.assign(known, outcomes(line)); });
      } else if (!this.muted.has(line.from.user)) {
        isLate ||= line.at < last;
        this.#append(chat, this.#made(key, line));
      }
    }
    if (isLate) chat.messages.sort((left, right) => left.at - right.at);
    chat.isRecent = true;
    this.changed.add("log").add("chats");
  }

  /** The message whose answer a lost connection took, if the daemon has it: it is this one. */
  #recognise(chat, line, key) {
    const found = chat.messages.find(({ state, text }) => state === "unknown" && text === line.text);
    if (found) {
      found.state = "sent";
      chat.byKey.set(key, found);
    }
    return found;
  }

  #sent(chat, line, request) {
    const message = request?.local && chat.byKey.get(request.local);
    if (!message) return;
    const key = this.#key({ own: true, sent: line.message });
    chat.byKey.set(key, message);
    this.#mark(message, () => Object.assign(message, { state: "sent", to: line.to, at: line.at, number: line.message }));
  }

  #settle(chat, { on, message: number, user, why }) {
    const message = chat.byKey.get(this.#key({ own: true, sent: number }));
    if (!message) return;
    this.#mark(message, () => {
      if (on === "delivered") message.delivered.add(user);
      else message.failed.set(user, why);
    });
  }

  #refuse(chat, { text }, request) {
    const message = request.local && chat?.byKey.get(request.local);
    if (message) this.#mark(message, () => Object.assign(message, { state: "refused", error: text }));
  }

  #miss(chat, { messages }) {
    chat.missed += messages;
    const text = messages === 1 ? "1 message was not kept." : `${messages} messages were not kept.`;
    if (messages) this.#remark(chat, { text, at: chat.messages.at(-1)?.at ?? 0 });
  }

  #notice(line) {
    const { code, text, user, chat } = line;
    if (code === "key-changed") {
      const chats = [...this.chats.values()].filter(({ name, people }) => chat ? name === chat : people.has(user));
      for (const place of chats.length || !this.open ? chats : [this.open]) this.#remark(place, line);
    } else if (code === "discovery-up") {
      this.notices.delete("discovery-down");
    } else if (code !== "open-chat") {
      this.notices.set(code, text);
    }
    this.changed.add("notices");
  }

  /** Adds a line that is no message: a warning if it names a person. */
  #remark(chat, { at, text, user, name, known, verified }) {
    const message = this.#made(`local/${++this.#locals}`, { at, text, from: { user, name } });
    message.warning = user ? { known, verified } : null;
    message.kind = "remark";
    this.#append(chat, message);
  }

  #done({ chat: name, peers, invite, at }, request) {
    if (request.do === "join") {
      const chat = this.#enter(name);
      chat.isJoined = true;
      chat.isSecret = invite !== undefined;
      chat.isLooking ||= !peers?.length;
      for (const person of peers ?? []) this.#meet(chat, { ...person, at });
    } else if (request.do === "leave") {
      this.chats.delete(request.chat);
      if (this.current === request.chat) this.current = this.shown = null;
      this.changed.add("chats").add("log").add("people");
    } else if (request.do === "away" || request.do === "back") {
      this.#change("self", () => { this.self.away = request.do === "away"; });
    }
  }

  #bridge({ state, text, starts }) {
    if (state === "lost") {
      this.lost = { text, starts };
      this.disconnect();
    } else if (state === "back") {
      this.lost = null;
    } else if (state === "reused") {
      this.notices.set(state, "Somebody opened this page’s address a second time. It was refused. If it was not you, "
        + "close inkling web and find out which program reads your addresses.");
      this.changed.add("notices");
    }
  }

  #key({ own, sent, message }) {
    return `${this.#since}/${own ? "own" : "from"}/${own ? sent : message}`;
  }

  #made(key, { at, text, from, own = false, delayed = false, sent, message, ...rest }) {
    const isMention = !own && mentions(text, this.self.name);
    return {
      key, at, text, from: { ...from, label: label(from) }, own, delayed, isMention, number: own ? sent : message, kind: "message", state: "sent",
      version: 0, isWhole: false, ...outcomes(rest),
    };
  }

  #append(chat, message) {
    chat.messages.push(message);
    chat.byKey.set(message.key, message);
    if (chat.messages.length > MOST) {
      const dropped = new Set(chat.messages.splice(0, DROPPED));
      for (const [key, old] of chat.byKey) if (dropped.has(old)) chat.byKey.delete(key);
    }
    this.changed.add("log").add("chats");
  }
}

/** The outcomes of an own message, as `recent` and `message` have them. */
function outcomes({ to, delivered = [], failed = [] }) {
  return { to, delivered: new Set(delivered), failed: new Map(failed.map(({ user, why }) => [user, why])) };
}

/** Whether a text has the user's name as a word. */
function mentions(text, name) {
  if (!name || !text) return false;
  const start = text.toLowerCase().indexOf(name.toLowerCase());
  const isLetter = (letter) => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
  return start >= 0 && !isLetter(text[start - 1]) && !isLetter(text[start + name.length]);
}

const ORDER = ["online", "away", "offline"];

/** The people of a chat: those who are there first, then by label. */
export function sorted(people) {
  const rank = ({ presence }) => ORDER.indexOf(presence);
  return [...people].sort((left, right) => rank(left) - rank(right) || left.label.localeCompare(right.label));
}
