// Builders of elements. Texts become text nodes: nothing parses markup.

export const $ = (id) => document.getElementById(id);

/** Returns an element: el("p.day", { id: "x", onclick() {} }, "text", child). Empty children are left out. */
export function el(kind, ...parts) {
	const [tag, ...classes] = kind.split(".");
	const made = document.createElement(tag);
	if (classes.length) made.className = classes.join(" ");
	for (const part of parts.flat()) {
		if (part?.constructor !== Object) {
			if (part) made.append(part);
			continue;
		}
		for (const [name, value] of Object.entries(part)) {
			if (name === "onclick") made.addEventListener("click", value);
			else if (/^(id|dir|role|(data|aria)-[a-z]+)$/.test(name)) made.setAttribute(name, value);
			else throw Error(`no attribute ${name}`);
		}
	}
	return made;
}

/** Returns a name in a box that keeps its direction from the text beside it. */
export const bdi = (text, kind = "bdi") => el(kind, { dir: "auto" }, text);

export const unseen = (text) => el("span.hidden", text);

export const dots = () => el("span.dots", { "aria-hidden": "true" }, el("i"), el("i"), el("i"));

export function svg(tag, attributes, ...children) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const name of Object.keys(attributes)) made.setAttribute(name, attributes[name]);
	made.append(...children);
	return made;
}

/** Returns a picture of index.html. */
export const icon = (name, words) =>
	svg("svg", { class: name, role: "img", "aria-label": words }, svg("use", { href: `#${name}` }));

/** Returns a link to a website, which opens in a new tab. */
export function link({ text, href }) {
	if (!/^https?:$/.test(new URL(href).protocol)) return text;
	return Object.assign(el("a", text), { href, target: "_blank", rel: "noopener noreferrer" });
}

/** Returns a circle with a name's first letter, in one of six colours. */
export function avatar(name, ...children) {
	const [letter = "?"] = name.match(/[\p{L}\p{N}]/u) ?? [];
	const sum = [...name].reduce((sum, letter) => sum * 31 + letter.codePointAt() & 0xffff, 0);
	return el(`span.avatar.c${sum % 6}`, { "aria-hidden": "true" }, letter.toUpperCase(), ...children);
}

/** Makes a list's children follow rows of [key, sign, make]. A child is made again when its sign changes. */
export function sync(list, rows) {
	const old = new Map([...list.children].map((child) => [child.key, child]));
	let next = list.firstChild;
	for (const [key, sign, make] of rows) {
		let child = old.get(key);
		old.delete(key);
		if (child?.sign !== sign) {
			const made = Object.assign(make(), { key, sign });
			const hasFocus = child?.contains(document.activeElement);
			if (child === next && child) next = made;
			child?.replaceWith(made);
			if (hasFocus) made.querySelector("button")?.focus();
			child = made;
		}
		if (child === next) next = next.nextSibling;
		else list.insertBefore(child, next);
	}
	for (const child of old.values()) child.remove();
}
