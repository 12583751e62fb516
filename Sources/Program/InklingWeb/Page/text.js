// Texts of people made safe to show, by the rules of InklingText, and the page's own words.

/** Marks, letters that pile up on the one before them, and joiners. */
const PILED = "[\\p{M}\\u200c\\u200d\\u1160-\\u11ff\\ud7b0-\\ud7ff\\uff9e\\uff9f]";
/** The longest name of a label, and of the indicator, in grapheme clusters. */
const LONGEST = 32, LONGEST_TYPING = 15;

/** The replacements that make a text safe, in their order. */
const RULES = [
  [/\r\n?|[\x85\u2028\u2029]/g, "\n"],
  // Invisible characters, and those that turn the text around.
  [/(?![\u200c\u200d\ufe0f])[\p{DI}\p{Bidi_C}]/gu, ""],
  [/[\p{Cn}\p{Co}\p{Cs}\ufff9-\ufffb]/gu, "\ufffd"],
  // Skin tones, variation selectors and joiners stay only where they change a picture, or join letters.
  [/(?<!\p{EBase})\p{EMod}/gu, ""],
  [/(?<!\p{ExtPict}|[#*\d](?=\ufe0f\u20e3))\ufe0f/gu, ""],
  [/(?<!\p{ExtPict}\p{EMod}?\ufe0f?(?=\u200d\p{ExtPict})|[\u0600-\u0dff\u0f00-\u109f\u1780-\u18af](?=.[\u0600-\u0dff\u0f00-\u109f\u1780-\u18af]))[\u200c\u200d]/gu, ""],
  // At most 10 pictures form one.
  [/((?:\p{ExtPict}\p{EMod}?\ufe0f?\u200d){9}\p{ExtPict}\p{EMod}?\ufe0f?)\u200d/gu, "$1"],
  // Marks need a base, and a base has at most 3.
  [RegExp(`(^|\\p{Cc})${PILED}+`, "gu"), "$1"],
  [RegExp(`(${PILED}{3})${PILED}+`, "gu"), "$1"],
  [/[^\P{Cc}\n\t]/gu, (control) => "\\x" + control.charCodeAt().toString(16).padStart(2, "0")],
];

const clusters = new Intl.Segmenter("en");

function cut(text, max, end) {
  if (text.length <= max) return text;
  let room = max;
  for (const { segment, index } of clusters.segment(text)) {
    // Joined consonants can make a cluster of any length.
    room -= Math.ceil(segment.length / 16);
    if (room < 0) return text.slice(0, index).trimEnd() + end;
  }
  return text;
}

/** Returns a text of several lines made safe. Control characters show as `\x1b`. */
export function lines(text) {
  const sent = String(text ?? "");
  return /^[\n\t -~]*$/.test(sent) ? sent : RULES.reduce((rest, [found, safe]) => rest.replace(found, safe), sent);
}

/** Returns a text made safe for one line, of at most `max` grapheme clusters and "…". */
export function plain(text, max = Infinity) {
  return cut(lines(text).replace(RegExp(`\\s+${PILED}*`, "gu"), " ").trim(), max, "…");
}

/** Returns a text of one line that doesn't move the text beside it, for titles and attributes. */
export function isolate(text) {
  const open = [], kept = [];
  for (const scalar of String(text).replace(/[\n\r\x1c-\x1e\x85\u2029]/g, " ")) {
    if (/[\u202a-\u202e]/.test(scalar)) continue;
    if (/[\u2066-\u2068]/.test(scalar)) open.push(kept.length);
    if (scalar === "\u2069" && open.pop() === undefined) continue;
    kept.push(scalar);
  }
  for (const index of open) kept[index] = "";
  return `\u2068${kept.join("")}\u2069`;
}

/** Returns the link at the beginning of a text, with the ASCII form of its host; nil without one. */
function link(text) {
  // The link ends before a closing bracket without an opening one, and before punctuation.
  const open = [];
  let end = 0;
  while (end < text.length) {
    const pair = ["()", "[]", "{}"].find((pair) => pair.includes(text[end]));
    if (pair?.[0] === text[end]) open.push(pair);
    else if (pair && open.pop() !== pair) break;
    end++;
  }
  while (/[.,:;!?'*_~…“”‘’»、。，！？]/.test(text[end - 1])) end--;
  const [, authority, rest] = /^https?:\/\/([^/?#\\]*)(.*)/isu.exec(text.slice(0, end));
  try {
    const url = new URL(text.slice(0, end));
    if (!authority || authority.includes("@")) return;
    return { text: `${url.protocol}//${url.host}${rest}`, href: url.href, length: end };
  } catch {
    return;
  }
}

/** Returns a message, made safe, as pieces: `{text}`, or `{text, href}` for a link to a website. */
export function pieces(text) {
  const safe = lines(text), result = [];
  let start = 0;
  for (const { 0: word, index } of safe.matchAll(/\bhttps?:\/\/[^\s<>"`|«»]+/giu)) {
    const found = link(word);
    if (!found) continue;
    if (index > start) result.push({ text: safe.slice(start, index) });
    start = index + found.length;
    result.push({ text: found.text, href: found.href });
  }
  if (start < safe.length) result.push({ text: safe.slice(start) });
  return result;
}

const SIGNS = /[\p{Ps}\p{Pe}\p{Pi}\p{Pf}'"`´<>|ǀ~,;،؛、，；]|(?![\0-\x7f\u2600-\u26ff]|\p{Emoji_Presentation})[\p{Sm}\p{Sk}\p{So}]|[★☆☐-☒⚠⚡✅✨❌❎⭐⭕🆎-🆚💠💬💯🔏-🔓🔰-🔽🟠-🟫]/u;
const OWN_WORDS = /(^|\P{L})(you|someone|nobody|others|verified|muted|blocked|active now|away|last seen|delivered|(is|are) typing|is here|has left|inkling)(?!\p{L})/iu;
const SCRIPTS = [/\p{sc=Latn}/u, /\p{sc=Grek}/u, /\p{sc=Cyrl}/u, /\p{sc=Armn}/u, /\p{sc=Cher}/u];
const CODE = /[a-z0-9]{16,}/gi;

/** Returns whether a name could mislead even without another person: see `Labels` in InklingText. */
function isDoubtful(name) {
  return SIGNS.test(name.replace(/['’](?=\p{L})/gu, "")) || OWN_WORDS.test(name) || /^[a-z2-7]{16}$/.test(name)
    || name.split(/[^\p{L}\p{M}\p{N}]+/u).some((word) => SCRIPTS.filter((script) => script.test(word)).length > 1);
}

/** Returns a person's name, with a piece of the user ID if the name could mislead; or the user ID. */
export function label({ user, name, namesakes = [], verified }) {
  const sent = plain(String(name ?? "").normalize(), LONGEST);
  const hasCode = (text) => text.match(CODE)?.some((word) => /\d\D*[a-z]/i.test(word));
  const compatible = sent.normalize("NFKC");
  const shown = (hasCode(compatible) ? compatible.replace(CODE, "...") : sent)
    .replace(/[√-∜℣⎷⍻☑✅✓✔ꪜ🗸🗹]\ufe0f?/gu, "").replace(/[:ː։׃܃᠃⁚∶ꓽ꞉︓︰﹕：]/g, ".").replace(/\s+/g, " ").trim();
  if (!/[\p{L}\p{N}]/u.test(shown)) return user;
  if (!isDoubtful(shown) && shown === sent && (verified || !namesakes.length)) return shown;
  let length = 4;
  while (namesakes.some((other) => other.startsWith(user.slice(0, length)))) length++;
  return `${shown} ~${user.slice(0, length)}`;
}

/** Returns a user ID in groups of four. */
export const groups = (id) => id.replace(/.{4}(?=.)/g, "$& ");

/** Returns the text of the typing indicator for labels, the latest start first; "" without any. */
export function typing(labels) {
  if (labels.length > 1 && labels.every((one) => !one)) return `${labels.length} people are typing`;
  const isMixed = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(labels);
  const names = labels.map((one) => {
    const [, name, suffix = ""] = /^(.*?)( ~[a-z2-7]{4,})?$/s.exec(one);
    const shown = (/^[a-z2-7]{16}$/.test(name) ? name : cut(name, LONGEST_TYPING, "...") || "Someone") + suffix;
    return isMixed ? isolate(shown) : shown;
  });
  if (names.length > 3) names.splice(2, names.length, `${names.length - 2} others`);
  const last = names.pop();
  if (!names.length) return last ? `${last} is typing` : "";
  return `${names.join(", ")}${names.length > 1 ? "," : ""} and ${last} are typing`;
}

/** Returns the action in a message such as "/me waves", or undefined. */
export const deed = (text) => /^\/me (?=[^]*\S)([^]*)$/.exec(text)?.[1];

/** Returns the message to send for a draft: "//x" sends "/x", and "/ME  waves " sends "/me waves". */
export function spoken(draft) {
  return draft.startsWith("//") ? draft.slice(1) : draft.replace(/^\/me\s+(?=\S)/i, "/me ");
}

/** Returns whether a draft is a command of the prompt, and no message. */
export const isCommand = (draft) => /^\/(?!\/|me\s+\S)/i.test(draft);

const two = (number) => String(number).padStart(2, "0");
const date = (seconds) => new Date(seconds * 1000);

/** Returns how many midnights of local time lie between two times in seconds. */
function daysBetween(seconds, now) {
  const [from, to] = [seconds, now].map((time) => date(time).setHours(12, 0, 0, 0));
  return Math.round((to - from) / 86_400_000);
}

/** Returns a local time of day such as "09:05". */
export const clock = (seconds) => `${two(date(seconds).getHours())}:${two(date(seconds).getMinutes())}`;

/** Returns "Today", "Yesterday", or a local date such as "Tuesday, 3 March 2026". */
export function day(seconds, now = Date.now() / 1000) {
  const part = (options) => date(seconds).toLocaleDateString("en-GB", options);
  return ["Today", "Yesterday"][daysBetween(seconds, now)]
    ?? `${part({ weekday: "long" })}, ${part({ day: "numeric", month: "long", year: "numeric" })}`;
}

/** Returns how long ago a time in seconds was, such as "5 minutes ago". */
export function ago(seconds, now = Date.now() / 1000) {
  const age = now - seconds, days = daysBetween(seconds, now);
  const count = (number, unit) => `${number} ${unit}${number > 1 ? "s" : ""} ago`;
  if (age < 60) return "just now";
  if (age < 3600) return count(Math.floor(age / 60), "minute");
  if (days < 1 || age < 21_600) return count(Math.floor(age / 3600), "hour");
  if (days < 2) return "yesterday";
  if (days < 14) return count(days, "day");
  return days < 60 ? count(Math.floor(days / 7), "week") : `on ${day(seconds, now)}`;
}
