// QR codes (ISO/IEC 18004, model 2): byte mode, level M, versions 1 to 15. Dark modules are 1.

const CHECKS = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24];
const BLOCKS = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10];

const inverts = (mask, x, y) => [
	(x + y) % 2, y % 2, x % 3, (x + y) % 3, ((x / 3 | 0) + (y >> 1)) % 2,
	x * y % 6, (x * y % 2 + x * y % 3) % 2, ((x + y) % 2 + x * y % 3) % 2,
][mask] === 0;

const powers = [1];
for (let last = 1; powers.length < 255; powers.push(last)) last = last << 1 ^ (last > 127 ? 0x11D : 0);
const product = (a, b) => a && b ? powers[(powers.indexOf(a) + powers.indexOf(b)) % 255] : 0;

/** Returns the Reed-Solomon check bytes of a block. */
function checkBytes(block, count) {
	const divisor = powers.slice(0, count)
		.reduce((terms, power) => [...terms, 0].map((term, i) => term ^ product(terms[i - 1], power)), [1]);
	return block.reduce((rest, byte) =>
		rest.map((_, i) => rest[i + 1] ^ product(divisor[i + 1], byte ^ rest[0])), Array(count).fill(0));
}

function withCheckBits(value, divisor) {
	const degree = 31 - Math.clz32(divisor);
	let rest = value << degree;
	for (let i = 3; i >= 0; i--) if (rest >> degree + i) rest ^= divisor << i;
	return value << degree | rest;
}

function drawFormat(rows, mask) {
	const end = rows.length - 1, format = withCheckBits(mask, 0x537) ^ 0x5412;
	for (let i = 0; i < 15; i++) {
		const bit = format >> i & 1;
		if (i < 8) rows[i < 6 ? i : i + 1][8] = rows[8][end - i] = bit;
		else rows[8][i > 8 ? 14 - i : 7] = rows[end - 14 + i][8] = bit;
	}
}

function frame(version) {
	const size = 4 * version + 17;
	const rows = Array.from({ length: size }, () => Array(size).fill());
	const draw = (midX, midY, rings) => rows.forEach((row, y) => row.forEach((_, x) => {
		row[x] = rings[Math.max(Math.abs(x - midX), Math.abs(y - midY))] ?? row[x];
	}));
	for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) draw(x, y, [1, 1, 0, 1, 0]);
	const inner = version < 7 ? [] : version < 14 ? [2 * version + 8] : [26, 2 * version + 18];
	const mids = version > 1 ? [6, ...inner, size - 7] : [];
	for (const x of mids) for (const y of mids) if (rows[y][x] === undefined) draw(x, y, [1, 0, 1]);
	for (let i = 8; i < size - 8; i++) rows[6][i] = rows[i][6] = 1 - i % 2;
	for (let i = 0; version > 6 && i < 18; i++) {
		const x = i / 3 | 0, y = size - 11 + i % 3;
		rows[x][y] = rows[y][x] = withCheckBits(version, 0x1F25) >> i & 1;
	}
	rows[size - 8][8] = 1;
	drawFormat(rows, 0);
	return rows;
}

function* places(rows) {
	const size = rows.length;
	for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
		for (let i = 0; i < 2 * size; i++) {
			const x = right - i % 2, y = (right + 1) % 4 < 2 ? size - 1 - (i >> 1) : i >> 1;
			if (rows[y][x] === undefined) yield [x, y];
		}
	}
}

function penalty(rows) {
	let sum = 0, dark = 0;
	for (const line of [...rows, ...rows.map((_, x) => rows.map((row) => row[x]))]) {
		for (const [run] of line.join("").matchAll(/(.)\1{4,}/g)) sum += run.length - 2;
		sum += 40 * [...line.join("").matchAll(/(?=10111010000|00001011101)/g)].length;
	}
	rows.forEach((row, y) => row.forEach((bit, x) => {
		const below = rows[y + 1] ?? [];
		if ([row[x + 1], below[x], below[x + 1]].every((other) => other === bit)) sum += 3;
		dark += bit;
	}));
	return sum + 10 * Math.floor(Math.abs(20 * dark / rows.length ** 2 - 10));
}

export function qr(text) {
	const bytes = [...new TextEncoder().encode(text)], { length } = bytes;
	for (let version = 1; version < 16; version++) {
		const fixed = frame(version), free = [...places(fixed)], count = BLOCKS[version];
		const room = (free.length >> 3) - CHECKS[version] * count;
		const parts = [version > 9 ? [length >> 8] : [], length & 255, bytes, 0].flat();
		if (parts.length > room) continue;
		const data = parts.map((part, i) => (parts[i - 1] ?? 4) << 4 & 255 | part >> 4);
		while (data.length < room) data.push(0xEC, 0x11);
		const blocks = Array.from({ length: count }, (_, i) => data.splice(0, Math.floor((room + i) / count)));
		const mixed = (parts) => parts.at(-1).flatMap((_, i) => parts.flatMap((part) => part[i] ?? []));
		const sent = [...mixed(blocks), ...mixed(blocks.map((block) => checkBytes(block, CHECKS[version])))];
		const [best] = [...Array(8).keys()].map((mask) => {
			const rows = fixed.map((row) => [...row]);
			drawFormat(rows, mask);
			free.forEach(([x, y], i) => rows[y][x] = sent[i >> 3] >> 7 - i % 8 & 1 ^ inverts(mask, x, y));
			return { rows, penalty: penalty(rows) };
		}).sort((a, b) => a.penalty - b.penalty);
		return best.rows;
	}
	throw RangeError();
}
