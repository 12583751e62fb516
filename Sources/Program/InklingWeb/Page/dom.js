// Elements. Texts become text nodes: nothing here parses markup.

export const $ = (id) => document.getElementById(id);

export function write(id, text = "") {
	if ($(id).textContent !== text) $(id).textContent = text;
}

/** Returns an element: el("p.day", { id: "x", onclick() {} }, "text", child), without the empty children. */
export function el(kind, ...parts) {
	const [tag, ...names] = kind.split(".");
	const made = document.createElement(tag);
	made.className = names.join(" ");
	for (const part of parts.flat()) {
		if (part?.constructor !== Object) made.append(part || "");
		else for (const [name, value] of Object.entries(part)) {
			if (name === "onclick") made.onclick = value;
			else if (/^(id|dir|role|(data|aria)-\w+)$/.test(name)) made.setAttribute(name, value);
		}
	}
	return made;
}

/** Returns a name in a box of its own direction. */
export const bdi = (text, kind = "bdi") => el(kind, { dir: "auto" }, text);
export const unseen = (text) => el("span.hidden", text);
export const dots = () => el("span.dots", { "aria-hidden": true }, el("i"), el("i"), el("i"));

export function svg(tag, attributes, ...children) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const name in attributes) made.setAttribute(name, attributes[name]);
	made.append(...children);
	return made;
}

export const icon = (name, words) =>
	svg("svg", { class: name, role: "img", "aria-label": words }, svg("use", { href: `#${name}` }));

export function link({ text, href }) {
	if (!/^https?:/.test(href)) return text;
	return Object.assign(el("a", text), { href, target: "_blank", rel: "noopener noreferrer" });
}

/** Returns a circle with a name's first letter, in one of six colours. */
export function avatar(name, ...children) {
	const hue = [...name].reduce((sum, letter) => sum + letter.codePointAt(), 0) % 6;
	const [letter = "?"] = name.match(/[\p{L}\p{N}]/u) ?? [];
	return el(`span.avatar.c${hue}`, { "aria-hidden": true }, letter.toUpperCase(), ...children);
}

/** Makes a list's children follow rows of [key, sign, make]. A child is made again when its sign changes. */
export function sync(list, rows) {
	const old = new Map([...list.children].map((child) => [child.key, child]));
	let next = list.firstChild;
	for (const [key, sign, make] of rows) {
		const before = old.get(key);
		let child = before;
		if (before?.sign !== sign) {
			child = Object.assign(make(), { key, sign });
			const hasFocus = before?.contains(document.activeElement);
			if (before && before === next) next = child;
			before?.replaceWith(child);
			if (hasFocus) child.querySelector("button")?.focus();
		}
		old.delete(key);
		if (child === next) next = next.nextSibling;
		else list.insertBefore(child, next);
	}
	for (const child of old.values()) child.remove();
}
