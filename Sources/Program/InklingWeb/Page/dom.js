// Elements. Texts become text nodes; nothing parses markup.

export const $ = (id) => document.getElementById(id);

export function write(id, text = "") {
	if ($(id).textContent !== text) $(id).textContent = text;
}

export function on(acts) {
	for (const id in acts) $(id)[$(id).elements ? "onsubmit" : "onclick"] = acts[id];
}
onsubmit = (event) => event.preventDefault();

export function set(made, attributes) {
	for (const name in attributes) made.setAttribute(name, attributes[name]);
	return made;
}

/** Returns an element: el("p.day", {id: "x"}, onclick, "text", child). */
export function el(kind, ...parts) {
	const [tag, ...names] = kind.split("."), made = document.createElement(tag);
	made.className = names.join(" ");
	for (const part of parts.flat()) {
		if (part?.constructor === Object) set(made, part);
		else if (part?.call) made.onclick = part;
		else made.append(part || "");
	}
	return made;
}

export const bdi = (text, kind = "bdi") => el(kind, {dir: "auto"}, text);
export const unseen = (text) => el("span.hidden", text);
export const dots = () => el("span.dots", {"aria-hidden": true}, el("i"), el("i"), el("i"));

export function svg(size, words, child, attributes) {
	const [made, inner] = ["svg", child].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
	made.append(set(inner, attributes));
	return set(made, {viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": words});
}

/** Saves a text as a file of the user's. */
export function save(name, text) {
	const href = URL.createObjectURL(new Blob([text], {type: "text/plain"}));
	el("a", {href, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(href), 1000);
}

export const icon = (name, words = name) => svg(24, words, "use", {href: `#${name}`, class: name});

export const shield = (isVerified) => isVerified && icon("shield", "verified");

export function avatar(name, child) {
	const [letter = "?"] = name.match(/[\p{L}\p{N}]/u) ?? [];
	const made = el("span.avatar", {"aria-hidden": true}, letter.toUpperCase(), child);
	made.style.setProperty("--hue", 77 * letter.codePointAt());
	return made;
}

/** Fills an element again. Its button keeps the focus and a begun click. */
function renew(old, made) {
	for (const {name, value} of made.attributes) old.setAttribute(name, value);
	if (old.firstChild.type) renew(old.firstChild, made.firstChild);
	else old.replaceChildren(...made.childNodes);
}

/** Makes a list's children follow rows of [key, sign, make]. A new sign fills a child again. */
export function sync(list, rows) {
	const old = new Map([...list.children].map((child) => [child.key, child]));
	let next = list.firstChild;
	for (const [key, sign, make] of rows) {
		let child = old.get(key);
		old.delete(key);
		if (child?.sign !== sign) {
			const made = make();
			if (child) renew(child, made);
			child = Object.assign(child ?? made, {key, sign, version: null});
		}
		if (child === next) next = next.nextSibling;
		else list.insertBefore(child, next);
	}
	for (const child of old.values()) child.remove();
}
