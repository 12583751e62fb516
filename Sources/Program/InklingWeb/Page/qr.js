// QR codes (ISO/IEC 18004, model 2): byte mode, level M, versions 1 to 12, for the longest invite. Dark modules are 1.
// Invites are random enough for one mask, that of number 0.

const CHECKS = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22];
const BLOCKS = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8];
/** The bits of level M and mask 0, and of each version from 7. */
const FORMAT = 0x5412, VERSIONS = [0x7C94, 0x85BC, 0x9A99, 0xA4D3, 0xBBF6, 0xC762];

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

function frame(version) {
	const size = 4 * version + 17;
	const rows = Array.from({length: size}, () => Array(size).fill());
	const draw = (midX, midY, rings) => rows.forEach((row, y) => row.forEach((_, x) => {
		row[x] = rings[Math.max(Math.abs(x - midX), Math.abs(y - midY))] ?? row[x];
	}));
	for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) draw(x, y, [1, 1, 0, 1, 0]);
	const mids = version > 6 ? [6, 2 * version + 8, size - 7] : version > 1 ? [6, size - 7] : [];
	for (const x of mids) for (const y of mids) if (rows[y][x] === undefined) draw(x, y, [1, 0, 1]);
	for (let i = 8; i < size - 8; i++) rows[6][i] = rows[i][6] = 1 - i % 2;
	for (let i = 0; version > 6 && i < 18; i++) {
		const x = i / 3 | 0, y = size - 11 + i % 3;
		rows[x][y] = rows[y][x] = VERSIONS[version - 7] >> i & 1;
	}
	rows[size - 8][8] = 1;
	for (let i = 0; i < 15; i++) {
		const bit = FORMAT >> i & 1;
		if (i < 8) rows[i < 6 ? i : i + 1][8] = rows[8][size - 1 - i] = bit;
		else rows[8][i > 8 ? 14 - i : 7] = rows[size - 15 + i][8] = bit;
	}
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

export function qr(text) {
	const bytes = [...new TextEncoder().encode(text)], {length} = bytes;
	for (let version = 1; version < 13; version++) {
		const rows = frame(version), free = [...places(rows)], count = BLOCKS[version];
		const room = (free.length >> 3) - CHECKS[version] * count;
		const parts = [version > 9 ? [length >> 8] : [], length & 255, bytes, 0].flat();
		if (parts.length > room) continue;
		const data = parts.map((part, i) => (parts[i - 1] ?? 4) << 4 & 255 | part >> 4);
		while (data.length < room) data.push(0xEC, 0x11);
		const blocks = Array.from({length: count}, (_, i) => data.splice(0, Math.floor((room + i) / count)));
		const mixed = (parts) => parts.at(-1).flatMap((_, i) => parts.flatMap((part) => part[i] ?? []));
		const sent = [...mixed(blocks), ...mixed(blocks.map((block) => checkBytes(block, CHECKS[version])))];
		free.forEach(([x, y], i) => rows[y][x] = sent[i >> 3] >> 7 - i % 8 & 1 ^ (x + y + 1) % 2);
		return rows;
	}
	throw RangeError();
}
