/** The page: what the user does becomes requests, and what the model changes is rendered once in a frame. */

import { Connection } from "./connection.js";
import { Daemon } from "./daemon.js";
import { Dialogs } from "./dialogs.js";
import { $ } from "./dom.js";
import { Log } from "./log.js";
import { Model } from "./model.js";
import { isCommand, plain, spoken } from "./text.js";
import { View } from "./view.js";

/** The longest message, in bytes (M-1). */
const LONGEST = 65_536;
/** The typing ends after this time without the focus, in milliseconds, as after a pause (T-9). */
const PAUSE = 2_900;
/** How often the page asks for the chats of other front ends and renders times, in milliseconds. */
const REFRESH = 20_000;
/** The time after a join in which a node looks for others, in milliseconds. */
const LOOKING = 3_000;

const model = new Model();
const view = new View(model);
const daemon = new Daemon(model, applied);
const log = new Log(model, { retry, compare: (user) => dialogs.person(user) });
const dialogs = new Dialogs(model, daemon, { enter, changed: render });
const connection = new Connection((line) => daemon.receive(line), connected);
daemon.connection = connection;

const draft = $("draft");
let banner = {};
let isDrawing = false;
/** The text that stands for the draft at the daemon: the draft itself stays in this page. */
let stand = "";
let found = [];
let place = -1;

// MARK: Rendering

function render() {
  if (isDrawing) return;
  isDrawing = true;
  const draw = () => {
    isDrawing = false;
    const changed = new Set(model.changed);
    model.changed.clear();
    view.render(changed);
    if (changed.has("log")) log.render();
  };
  // A hidden tab has no frames, but a title.
  if (document.hidden) setTimeout(draw, 200);
  else requestAnimationFrame(draw);
}

function showBanner() {
  const { text, button } = model.lost
    ? { text: `The connection to Inkling’s daemon is lost: ${plain(model.lost.text, 300)} Your draft stays here.`,
      button: model.lost.starts ? "Start again" : undefined }
    : banner;
  $("banner").hidden = !text;
  $("banner-text").textContent = text ?? "";
  $("banner-action").hidden = !button;
  $("banner-action").textContent = button ?? "";
}

function hint(text = "") {
  $("hint").hidden = !text;
  $("hint").textContent = text;
}

// MARK: The connection

function connected(state) {
  banner = state;
  if (!state.up) {
    daemon.disconnect();
    model.lost = null;
    lose();
  }
  showBanner();
}

function lose() {
  stand = "";
  for (const part of ["self", "typing", "chats"]) model.changed.add(part);
  render();
}

function applied(line, request) {
  if (line.on === "ready") begin();
  else if (line.on === "typing" && line.chat === model.current) view.typing();
  else if (line.waited && line.on === "message" && model.shown === line.chat) markRead();
  else if (line.on === "inkling-web") {
    showBanner();
    if (line.state === "lost") lose();
  } else if (line.on === "ok" && request?.do === "leave" && !model.open) close();
  render();
}

/** Asks for everything that a page shows, as after a reload. */
async function begin() {
  showBanner();
  daemon.request({ do: "status" });
  daemon.request({ do: "people", blocked: true });
  await daemon.request({ do: "subscribe" });
  const name = model.current ?? history.state?.chat;
  if (model.chat(name)) enter(name);
  else if (model.current) close();
}

let reading = 0;

/** Tells the daemon once for many lines that the user has read what waited. */
function markRead() {
  clearTimeout(reading);
  reading = setTimeout(() => model.shown && daemon.tell({ do: "read", chat: model.shown }), 50);
}

// MARK: Chats

/** Opens a chat: joins it in this page, reads what was said, and shows it. */
async function enter(name) {
  const chat = model.chat(name);
  if (!chat) return;
  if (model.current !== name) {
    if (model.open) model.open.draft = draft.value;
    draft.value = chat.draft;
    closeSearch();
    resize();
    hint();
  }
  model.current = name;
  history.replaceState({ chat: name }, "");
  document.body.dataset.view = "chat";
  stand = "";
  for (const part of ["chats", "people", "log", "typing"]) model.changed.add(part);
  if (!model.isReady) return render();
  const joined = chat.isJoined ? null : daemon.request({ do: "join", chat: name, open: false });
  const recent = chat.isRecent ? null : daemon.request({ do: "recent", chat: name });
  show();
  log.enter(chat);
  render();
  const refused = await joined;
  if (refused?.on === "error" && refused.code !== "chat-exists") hint(plain(refused.text, 400));
  await recent;
  if (model.current !== name) return;
  log.enter(chat);
  if (!matchMedia("(max-width: 760px)").matches) draft.focus();
  look(chat);
  setTimeout(() => look(chat), LOOKING);
}

/** Makes the current chat the daemon's too, while the page is in sight. */
function show() {
  if (document.hidden || !model.current || !model.isReady) return;
  daemon.request({ do: "open", chat: model.current });
  daemon.tell({ do: "read", chat: model.current });
  model.show(model.current);
}

/** Asks what discovery sees, for a user who is alone. */
async function look(chat) {
  if (model.current !== chat.name || !model.isReady || model.present(chat) > 0) return;
  await daemon.request({ do: "sightings", chat: chat.name });
  await daemon.request({ do: "chats" });
  render();
}

function close() {
  model.current = model.shown = null;
  history.replaceState(null, "");
  draft.value = "";
  document.body.dataset.view = "list";
  for (const part of ["chats", "people", "typing"]) model.changed.add(part);
  render();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    compose("");
    model.shown = null;
    daemon.tell({ do: "open" });
  } else {
    daemon.request({ do: "chats" });
    const hasUnread = model.open?.firstUnread;
    show();
    render();
    if (hasUnread) requestAnimationFrame(() => {
      log.render();
      log.toMarker();
    });
  }
});

$("chats").addEventListener("click", ({ target }) => {
  const name = target.closest("[data-chat]")?.dataset.chat;
  if (name) enter(name);
});

$("chats").addEventListener("keydown", (event) => {
  const buttons = [...$("chats").querySelectorAll("button")];
  const index = buttons.indexOf(document.activeElement);
  const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  buttons[Math.min(buttons.length - 1, Math.max(0, target))]?.focus();
});

// MARK: The draft

/** Tells the daemon that the draft changed, by a text that stands for it. */
function compose(text) {
  if (!model.current || !model.isReady || text === stand) return;
  stand = text;
  daemon.tell({ do: "compose", chat: model.current, text });
}

function edit() {
  const { value } = draft;
  hint();
  const counts = /[^\s\p{C}\p{Z}]/u.test(value) && !isCommand(value);
  compose(counts ? (stand === "x" ? "xx" : "x") : "");
  resize();
  if (value.length > LONGEST / 4) sizeOf(value);
}

function resize() {
  draft.rows = Math.min(6, draft.value.split("\n").length);
}

/** Whether a message fits; says so if it does not. */
function sizeOf(text) {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > LONGEST) {
    hint(`This message has ${bytes.toLocaleString("en")} bytes, and one can have 65,536. Shorten it, or send it in parts.`);
  }
  return bytes <= LONGEST;
}

function send() {
  const chat = model.open;
  const { value } = draft;
  if (!chat || !value.trim()) return;
  if (!model.isReady) return hint("Not connected: your text stays here until you can send it.");
  if (isCommand(value)) {
    const word = plain(value.split(/\s/)[0], 30);
    return hint(word === "/me" ? "Write what you do after /me, as in: /me waves"
      : `There is no command ${word} here. To begin a message with a slash, type two.`);
  }
  const text = spoken(value.trimEnd().toWellFormed?.() ?? value.trimEnd());
  if (!sizeOf(text)) return;
  post(chat, text);
  draft.value = "";
  stand = "";
  hint();
  resize();
}

/** Sends a message, which the conversation shows at once. */
function post(chat, text) {
  const message = model.compose(chat, text, Date.now() / 1_000);
  daemon.request({ do: "send", chat: chat.name, text }, { local: message.key });
  log.follow();
  render();
}

function retry(message) {
  if (!model.isReady || !model.open) return hint("Not connected: try again when the connection is back.");
  message.isRetried = true;
  message.version += 1;
  post(model.open, message.text);
}

draft.addEventListener("input", edit);
draft.addEventListener("keydown", (event) => {
  // Some browsers end a composition with a key of code 229 after it.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  send();
});
$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
  draft.focus();
});

let blurred = 0;
draft.addEventListener("blur", () => { blurred = setTimeout(() => compose(""), PAUSE); });
draft.addEventListener("focus", () => clearTimeout(blurred));

const refuseFiles = (event, data) => {
  if (!data?.files.length || data.types.includes("text/plain")) return;
  event.preventDefault();
  hint("Inkling sends text alone: pictures and files can’t be sent.");
};
draft.addEventListener("paste", (event) => refuseFiles(event, event.clipboardData));
for (const name of ["dragover", "drop"]) {
  document.addEventListener(name, (event) => refuseFiles(event, event.dataTransfer));
}

// MARK: Search and panes

function closeSearch() {
  if ($("search-bar").hidden) return;
  $("search-bar").hidden = true;
  $("search-open").setAttribute("aria-expanded", "false");
  $("search").value = "";
  log.search(null);
}

function step(by) {
  if (!found.length) return;
  place = (place + by + found.length) % found.length;
  log.go(found[place]);
  $("search-count").textContent = `${place + 1} of ${found.length}`;
}

function search() {
  const text = $("search").value.trim();
  found = log.search(text);
  place = found.length;
  $("search-count").textContent = text && !found.length ? "Not found" : "";
  if (text) step(-1);
}

$("search-open").addEventListener("click", () => {
  if (!$("search-bar").hidden) return closeSearch();
  $("search-bar").hidden = false;
  $("search-open").setAttribute("aria-expanded", "true");
  $("search").focus();
});
$("search").addEventListener("input", search);
$("search-bar").addEventListener("submit", (event) => {
  event.preventDefault();
  step(-1);
});
$("search-bar").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    closeSearch();
    $("search-open").focus();
  }
});
$("search-previous").addEventListener("click", () => step(-1));
$("search-next").addEventListener("click", () => step(1));
$("search-close").addEventListener("click", closeSearch);

$("people-open").addEventListener("click", () => {
  const isNarrow = matchMedia("(max-width: 1000px)").matches;
  const { body } = document;
  if (isNarrow) body.dataset.view = body.dataset.view === "people" ? "chat" : "people";
  else body.classList.toggle("without-people");
  $("people-open").setAttribute("aria-expanded", String(isNarrow || !body.classList.contains("without-people")));
  if (body.dataset.view === "people") $("people-close").focus();
});
$("people-close").addEventListener("click", () => {
  document.body.dataset.view = "chat";
  $("people-open").focus();
});
$("back-to-list").addEventListener("click", () => {
  document.body.dataset.view = "list";
  $("chats").querySelector("[aria-current]")?.focus();
});
$("banner-action").addEventListener("click", () => {
  if (model.lost) daemon.tell({ do: "inkling-web-start" });
  else connection.open();
});

// MARK: The page's life

addEventListener("pagehide", () => {
  compose("");
  connection.close();
});
addEventListener("pageshow", ({ persisted }) => persisted && connection.open());
setInterval(() => {
  if (document.hidden || !model.isReady) return;
  model.changed.add("people");
  daemon.request({ do: "chats" });
}, REFRESH);

connection.open();
