/** Builders of elements. Text goes in as text nodes alone, and attributes by a list of harmless names. */

const SVG = "http://www.w3.org/2000/svg";
const HARMLESS = /^(class|id|type|title|role|dir|datetime|(data|aria)-[a-z-]+)$/;

export const $ = (id) => document.getElementById(id);

/** An element with these attributes and children: elements and texts. Absent children are left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (!HARMLESS.test(name)) throw new Error(`the attribute ${name} is not allowed`);
    if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function button(name, attributes, ...children) {
  return element("button", { type: "button", class: name, ...attributes }, ...children);
}

/** A name in a box of its own, whose direction moves nothing beside it. */
export const bdi = (text, name) => element("bdi", { dir: "auto", class: name }, text);

/** Text for screen readers alone. */
export const unseen = (text) => element("span", { class: "hidden" }, text);

/** An icon of index.html; with words, it has a meaning of its own. */
export function icon(name, words) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  svg.setAttribute("class", `i-${name}`);
  if (!words) return svg;
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words);
  return svg;
}

export const dots = () => element("span", { class: "dots", "aria-hidden": "true" }, ...["i", "i", "i"].map((tag) => element(tag)));

/** A link to the web in a new tab, or the bare text if the address has another scheme. */
export function link({ text, href }) {
  const { protocol } = new URL(href);
  if (protocol !== "http:" && protocol !== "https:") return text;
  const made = element("a", {}, text);
  made.href = href;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

/** The code of a QR code as a picture: one path of squares. */
export function squares(rows, words) {
  const quiet = 4;
  const size = rows.length + 2 * quiet;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", rows.flatMap((row, y) =>
    row.map((isDark, x) => isDark ? `M${x + quiet} ${y + quiet}h1v1h-1z` : "")).join(""));
  svg.append(path);
  return svg;
}

/** A circle with the first letter of a name, in a colour of the name's own. */
export function avatar(name, ...children) {
  const letter = [...name].find((letter) => /[\p{L}\p{N}]/u.test(letter)) ?? "?";
  const sum = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 997, 7);
  return element("span", { class: `avatar c${sum % 6}`, "aria-hidden": "true" }, letter.toUpperCase(), ...children);
}

/**
 * Makes the children of a list follow `items`. A child keeps its element, and with it the focus, while its key lasts;
 * `update` fills it again when `sign` changes.
 */
export function reconcile(list, items, { key, sign, make, update }) {
  const children = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let next = list.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = children.get(name);
    children.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    const signature = sign(item);
    if (child.dataset.sign !== signature) {
      child.dataset.sign = signature;
      update(child, item);
    }
    if (child === next) next = next.nextElementSibling;
    else list.insertBefore(child, next);
  }
  for (const child of children.values()) child.remove();
}
