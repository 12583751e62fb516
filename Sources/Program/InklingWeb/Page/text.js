// Texts of people made safe to show, as InklingText does, and the page's own words.

/** Marks, letters that pile up like marks, and joiners. */
const PILED = "[\\p{M}\\u200c\\u200d\\u1160-\\u11ff\\ud7b0-\\ud7ff\\uff9e\\uff9f]";
/** The changes that make a text safe, in their order. */
const RULES = [
  [/\r\n?|[\x85\u2028\u2029]/g, "\n"],
  // Invisible characters, and those that turn the text around.
  [/(?![\u200c\u200d\ufe0f])[\p{DI}\p{Bidi_C}]/gu, ""],
  [/[\p{Cn}\p{Co}\p{Cs}\ufff9-\ufffb]/gu, "\ufffd"],
  // Skin tones, variation selectors and joiners stay where they change a picture or join letters.
  [/(?<!\p{EBase})\p{EMod}|(?<!\p{ExtPict}|[#*\d](?=\ufe0f\u20e3))\ufe0f/gu, ""],
  [/(?<!\p{ExtPict}\p{EMod}?\ufe0f?(?=\u200d\p{ExtPict})|[\u0600-\u18af](?=.[\u0600-\u18af]))[\u200c\u200d]/gu, ""],
  // At most 10 joined pictures, and 3 marks on a base.
  [/((?:\p{ExtPict}\p{EMod}?\ufe0f?\u200d){9}\p{ExtPict}\p{EMod}?\ufe0f?)\u200d/gu, "$1"],
  [RegExp(`(^|\\p{Cc}|${PILED}{3})${PILED}+`, "gu"), "$1"],
  [/[^\P{Cc}\n\t]/gu, (control) => "\\x" + control.charCodeAt().toString(16).padStart(2, "0")],
];

/** Cuts a text after `max` grapheme clusters, of which long ones count as several. */
function cut(text, max, end) {
  let room = max;
  for (const { segment, index } of new Intl.Segmenter("en").segment(text)) {
    room -= Math.ceil(segment.length / 16);
    if (room < 0) return text.slice(0, index).trimEnd() + end;
  }
  return text;
}

/** Returns a text of several lines made safe. Control characters show as `\x1b`. */
export const lines = (text) => RULES.reduce((rest, rule) => rest.replace(...rule), String(text ?? ""));

/** Returns a text made safe for one line, of at most `max` grapheme clusters and "…". */
export function plain(text, max = Infinity) {
  const line = lines(text).replace(RegExp(`\\s+${PILED}*`, "gu"), " ").trim();
  return line.length > max ? cut(line, max, "…") : line;
}

/** Returns a text of one line that can't move the text beside it. */
export function isolate(text) {
  const kept = [], open = [];
  for (const scalar of String(text).replace(/[\n\r\x1c-\x1e\x85\u2029]/g, " ").replace(/[\u202a-\u202e]/g, "")) {
    if (/[\u2066-\u2068]/.test(scalar)) open.push(kept.length);
    if (scalar !== "\u2069" || open.pop() !== undefined) kept.push(scalar);
  }
  for (const index of open) kept[index] = "";
  return `\u2068${kept.join("")}\u2069`;
}

/** Returns the link at the beginning of a text, with the ASCII form of its host. */
function link(text) {
  // The link ends before a closing bracket without an opening one, and before punctuation.
  const open = [];
  let end = 0;
  for (; end < text.length; end++) {
    const pair = ["()", "[]", "{}", "「」", "（）"].find((pair) => pair.includes(text[end]));
    if (pair?.[0] === text[end]) open.push(pair);
    else if (pair && open.pop() !== pair) break;
  }
  while (/[.,:;!?'*_~…”’、。，！？]/.test(text[end - 1])) end--;
  const [, host, path] = /^.{4,5}:\/\/([^/?#]*)(.*)/s.exec(text.slice(0, end)) ?? [];
  if (!host || host.includes("@") || !URL.canParse(text.slice(0, end))) return;
  const url = new URL(text.slice(0, end));
  return { text: `${url.protocol}//${url.host}${path}`, href: url.href, end };
}

/** Returns a message made safe, in pieces: `{text}`, or `{text, href}` for a link to a website. */
export function pieces(text) {
  const safe = lines(text), result = [];
  let start = 0;
  for (const { 0: word, index } of safe.matchAll(/\bhttps?:\/\/[^\s<>"`|«»\\]+/gi)) {
    const found = link(word);
    if (!found) continue;
    if (index > start) result.push({ text: safe.slice(start, index) });
    result.push({ text: found.text, href: found.href });
    start = index + found.end;
  }
  if (start < safe.length) result.push({ text: safe.slice(start) });
  return result;
}

const ID = /[a-z2-7]{16}/i;
/** Signs and words in names that could be the program's. */
const OWN = /[^\p{L}\p{M}\p{N}\p{ExtPict} .'’_@#&+!?/-]|[~✅✓✔☑]|\b(you|someone|verified|muted|blocked|away|is typing|is here|has left|inkling)\b/iu;

/** Returns a person's name, with a piece of the user ID if the name could mislead; or the user ID. */
export function label({ user, name, namesakes = [], verified }) {
  const shown = plain(name, 32);
  if (!/[\p{L}\p{N}]/u.test(shown)) return user;
  const isClear = !namesakes.length || verified;
  if (isClear && !OWN.test(shown) && !ID.test(shown.normalize("NFKC"))) return shown;
  let length = 4;
  while (namesakes.some((other) => other !== user && other.startsWith(user.slice(0, length)))) length++;
  return `${shown} ~${user.slice(0, length)}`;
}

/** Returns a user ID in groups of four. */
export const groups = (id) => id.replace(/.{4}(?=.)/g, "$& ");

/** Returns who is typing, for labels in their order; "" for none. */
export function typing(labels) {
  if (labels.length > 1 && labels.every((one) => !one)) return `${labels.length} people are typing`;
  const isMixed = /[\u0590-\u08ff\ufb1d-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(labels);
  const names = labels.map((one) => {
    const [, name, suffix = ""] = /^(.*?)( ~[a-z2-7]+)?$/s.exec(one);
    const shown = (name.length < 17 && ID.test(name) ? name : cut(name, 15, "...") || "Someone") + suffix;
    return isMixed ? isolate(shown) : shown;
  });
  if (names.length < 2) return names.map((name) => `${name} is typing`).join("");
  if (names.length > 3) names.splice(2, names.length, `${names.length - 2} others`);
  return `${names.slice(0, -1).join(", ")}${names.length > 2 ? "," : ""} and ${names.at(-1)} are typing`;
}

/** Returns the action in a message such as "/me waves". */
export const deed = (text) => /^\/me (?=\s*\S)(.*)/s.exec(text)?.[1];

/** Returns the message to send for a draft: "//x" sends "/x". */
export const spoken = (draft) => draft.replace(/^\/(?=\/)/, "").replace(/^\/me\s+(?=\S)/i, "/me ");

/** Returns whether a draft is a command of the prompt, and no message. */
export const isCommand = (draft) => /^\/(?!\/|me\s+\S)/i.test(draft);

const date = (seconds) => new Date(seconds * 1000);
const days = (seconds, now) => Math.round((date(now).setHours(12, 0, 0) - date(seconds).setHours(12, 0, 0)) / 864e5);
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Returns a local time of day such as "09:05". */
export const clock = (seconds) => date(seconds).toTimeString().slice(0, 5);

/** Returns "Today", "Yesterday", or a local date such as "Tuesday, 3 March 2026". */
export function day(seconds, now = Date.now() / 1000) {
  const part = (options) => date(seconds).toLocaleDateString("en-GB", options);
  return ["Today", "Yesterday"][days(seconds, now)]
    ?? `${part({ weekday: "long" })}, ${part({ day: "numeric", month: "long", year: "numeric" })}`;
}

/** Returns how long ago a time was, such as "5 minutes ago" or "yesterday". */
export function ago(seconds, now = Date.now() / 1000) {
  const age = now - seconds, count = days(seconds, now);
  if (age < 60) return "just now";
  if (age < 3600) return relative.format(-Math.floor(age / 60), "minute");
  if (count < 1) return relative.format(-Math.floor(age / 3600), "hour");
  return count < 31 ? relative.format(-count, "day") : `on ${day(seconds, now)}`;
}
