// Texts made safe to show, as InklingText does, and the page's own words.

import {DOUBTFUL, MARKS} from "./names.js";

const PILED = "[\\p{M}\\u200c\\u200d\\u1160-\\u11ff\\ud7b0-\\ud7ff\\uff9e\\uff9f]";
const RULES = [
	[/\r\n?|[\x85\u2028\u2029]/g, "\n"],
	[/(?![\u200c\u200d\ufe0f])\p{DI}/gu, ""],
	[/[\p{Cn}\p{Co}\p{Cs}\ufff9-\ufffb]/gu, "\ufffd"],
	// These change no picture and join no letters.
	[/(?<!\p{EBase})\p{EMod}|(?<!\p{ExtPict}|[#*\d](?=.\u20e3))\ufe0f/gu, ""],
	[/(?<!\p{ExtPict}\p{EMod}?\ufe0f?(?=.\p{ExtPict})|[\u0600-\u18af](?=.[\u0600-\u18af]))[\u200c\u200d]/gu, ""],
	[RegExp(`(^|\\p{Cc}|${PILED}{3})${PILED}+`, "gu"), "$1"],
	[/[^\P{Cc}\n\t]/gu, (control) => "\\x" + control.charCodeAt().toString(16).padStart(2, "0")],
];

export const lines = (text) => RULES.reduce((rest, rule) => rest.replace(...rule), String(text ?? ""));

function cut(text, max, end) {
	if (text.length <= max) return text;
	for (const {segment, index} of new Intl.Segmenter().segment(text)) {
		max -= Math.ceil(segment.length / 16);
		if (max < 0) return text.slice(0, index).trimEnd() + end;
	}
	return text;
}

export const plain = (text, max = 64) =>
	cut(lines(text).replace(RegExp(`\\s+${PILED}*`, "gu"), " ").trim(), max, "…");

export const isolate = (text) =>
	`\u2068${String(text).replace(/[\u202a-\u202e\u2066-\u2069\n\r\x1c-\x1e\x85\u2029]/g, "")}\u2069`;

const LINK =
	/\b(?=(https?:\/\/[^\s/?#]+))(?:[^\s<>"`|\\()[\]{}«»「」（）]|\([^\s()]*\)|\[[^\s[\]]*\])+(?<![.,:;!?'*_~…”’、。，！？])/gi;

/** Returns a message in safe pieces: `{text}`, or `{text, href}` for a link with its host in ASCII. */
export function pieces(text) {
	const safe = lines(text), result = [];
	let end = 0;
	for (const {0: link, 1: start, index} of safe.matchAll(LINK)) {
		if (start.includes("@") || !URL.canParse(link)) continue;
		const {protocol, host, href} = new URL(link);
		if (index > end) result.push({text: safe.slice(end, index)});
		result.push({text: `${protocol}//${host}${link.slice(start.length)}`, href});
		end = index + link.length;
	}
	return end < safe.length ? [...result, {text: safe.slice(end)}] : result;
}

/** Returns a name, with a piece of the user ID if it could mislead. */
export function label({user, name, namesakes = [], verified}) {
	const sent = plain(name, 32), shown = plain(sent.replace(MARKS, ""));
	if (!/[\p{L}\p{N}]/u.test(shown)) return user;
	if ((!namesakes.length || verified) && shown === sent && !DOUBTFUL.test(`${shown}\n${shown.normalize("NFKC")}`)) return shown;
	let length = 4;
	while (length < 16 && namesakes.some((other) => other.startsWith(user.slice(0, length)))) length++;
	return `${shown} ~${user.slice(0, length)}`;
}

export function lookalike({namesakes, namesake, verified}) {
	if (verified || !namesakes?.length) return "";
	return `Not the ${plain(namesake?.names?.[0], 40) || "person"} you ${namesake?.verified ? "verified" : "know"}`;
}

export const here = (count, nobody, place = "here") =>
	count > 1 ? `${count} people are ${place}` : count ? `1 person is ${place}` : nobody;

export const groups = (id) => id.replace(/.{4}(?=.)/g, "$& ");

export function typing(labels, longest = 15) {
	const names = labels.map((label) => {
		const [, name, suffix] = /^(.*?)( ~[a-z2-7]+|)$/.exec(label);
		const shown = (cut(name, longest, "...") || "Someone") + suffix;
		return /[^\0-\u058f]/.test(labels) ? isolate(shown) : shown;
	});
	if (names.length < 2) return names.map((name) => `${name} is typing`).join();
	if (names.length > 3) names.splice(2, names.length, `${names.length - 2} others`);
	return `${names.slice(0, -1).join(", ")}${names[2] ? "," : ""} and ${names.at(-1)} are typing`;
}

const folded = (text) => text.normalize("NFKC");

export const same = (one, other) => folded(one).toLowerCase() === folded(other).toLowerCase();

/** Without a character of `edge` beside the word. */
export const has = (text, word, edge = "$.") =>
	RegExp(`(?<!${edge})${folded(word).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?!${edge})`, "iu").test(folded(text));

export const deed = (text) => /^\/me (\s*\S.*)/s.exec(text)?.[1];
export const spoken = (draft) => draft.replace(/^\/\//, "/");
export const isCommand = (draft) => /^\/(?!\/|me \s*\S)/.test(draft);

const date = (seconds) => new Date(seconds * 1000);
export const days = (from, to) => Math.round((date(to).setHours(0, 0, 0) - date(from).setHours(0, 0, 0)) / 864e5);
export const clock = (seconds) => date(seconds).toTimeString().slice(0, 5);

export const day = (seconds, now = Date.now() / 1000) => ["Today", "Yesterday"][days(seconds, now)]
	?? date(seconds).toLocaleDateString("en-GB", {dateStyle: "full"});

export function ago(seconds, now = Date.now() / 1000) {
	const minutes = (now - (seconds || 1 / 0)) / 60, count = days(seconds, now);
	if (minutes < 1) return minutes > -1 ? "just now" : "recently";
	const [age, unit] = minutes < 60 ? [minutes, "minute"] : count < 1 ? [minutes / 60, "hour"] : [count, "day"];
	return new Intl.RelativeTimeFormat("en", {numeric: "auto"}).format(-Math.floor(age), unit);
}

export const presence = ({presence, lastSeen, blocked}, isMuted) =>
	({online: "Active now", away: "Away"}[presence] ?? `Last seen ${ago(lastSeen)}`)
		+ `${blocked ? " · blocked" : ""}${isMuted ? " · muted" : ""}`;
