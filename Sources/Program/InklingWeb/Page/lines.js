// The lines of the API (Protocol/api.md), which only this module writes.

import {ask, tell} from "./connection.js";

const all = (words, write, more) => Object.fromEntries(words.split(" ").map((word) =>
	[word, (members, own) => write({do: word, ...members, ...more}, own)]));
/** Requests with the members of api.md: `requests.leave({chat})`. The members of `own` stay in the page.
 * `tell` returns whether the page is connected, `ask` a promise of the answer. */
export const requests = {
	...all("open read compose", tell),
	...all("status subscribe away back nick leave recent who sightings send invite move admit decline", ask),
	...all("fingerprint verify unverify block unblock", ask),
	...all("join talk accept", ask, {open: false}),
	keepDraft: ({chat, text}) => tell({do: "inkling-web-draft", chat, text}),
	startDaemon: () => tell({do: "inkling-web-start"}),
};
