// QR codes, model 2 (ISO/IEC 18004): byte mode, error correction level M, versions 1 to 15.

/** The check bytes of a block and the blocks of a symbol, by version from 1. */
const CHECKS = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10];

/** For each mask, a number that is 0 where the mask inverts a module. */
const MASKS = [
  (x, y) => (x + y) % 2,
  (x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => ((x / 3 | 0) + (y / 2 | 0)) % 2,
  (x, y) => x * y % 2 + x * y % 3,
  (x, y) => (x * y % 2 + x * y % 3) % 2,
  (x, y) => ((x + y) % 2 + x * y % 3) % 2,
];

// GF(256), reduced by x^8 + x^4 + x^3 + x^2 + 1: the powers of 2, and their logarithms.
const powers = [], logs = [];
for (let i = 0, value = 1; i < 255; i++) {
  powers[i] = value;
  logs[value] = i;
  value = value << 1 ^ (value > 127 ? 0x11D : 0);
}
const product = (a, b) => a && b ? powers[(logs[a] + logs[b]) % 255] : 0;

/** Returns the Reed-Solomon check bytes of a block. */
function checkBytes(data, count) {
  // The product of all (x + 2^i), the highest power of x first.
  let divisor = [1];
  for (let i = 0; i < count; i++) {
    divisor = [...divisor, 0].map((term, j) => term ^ product(divisor[j - 1], powers[i]));
  }
  let rest = Array(count).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest = divisor.slice(1).map((term, j) => rest[j + 1] ^ product(term, factor));
  }
  return rest;
}

/** Returns a value followed by the check bits of a BCH code. */
function withCheckBits(value, divisor) {
  const zeros = Math.clz32(divisor);
  const shifted = value << 31 - zeros;
  let rest = shifted;
  while (Math.clz32(rest) <= zeros) rest ^= divisor << zeros - Math.clz32(rest);
  return shifted | rest;
}

/** Draws squares around a centre, from the inner one to the outer one, as far as the symbol reaches. */
function drawSquares(rows, x, y, areDark) {
  const radius = areDark.length - 1;
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) {
      if (rows[y + dy] && x + dx >= 0 && x + dx < rows.length) {
        rows[y + dy][x + dx] = areDark[Math.max(Math.abs(dx), Math.abs(dy))];
      }
    }
  }
}

/** Draws both copies of the mask's number. The number of level M is 0. */
function drawFormat(rows, mask) {
  const end = rows.length - 1, format = withCheckBits(mask, 0x537) ^ 0x5412;
  for (let i = 0; i < 15; i++) {
    const isDark = Boolean(format >> i & 1);
    if (i < 8) rows[i < 6 ? i : i + 1][8] = rows[8][end - i] = isDark;
    else rows[8][i > 8 ? 14 - i : 7] = rows[end - 14 + i][8] = isDark;
  }
}

/** Returns the rows of a symbol with its fixed patterns. Free modules are undefined. */
function frame(version) {
  const size = 4 * version + 17, last = size - 7;
  const rows = Array.from({ length: size }, () => Array(size).fill());
  for (let i = 8; i < size - 8; i++) rows[6][i] = rows[i][6] = i % 2 === 0;
  const finder = [true, true, false, true, false];
  drawSquares(rows, 3, 3, finder);
  drawSquares(rows, size - 4, 3, finder);
  drawSquares(rows, 3, size - 4, finder);
  const inner = version < 7 ? [] : version < 14 ? [2 * version + 8] : [26, (26 + last) / 2];
  const centres = version > 1 ? [6, ...inner, last] : [];
  for (const x of centres) {
    for (const y of centres) {
      if (x + y > 12 && (x > 6 || y < last) && (x < last || y > 6)) drawSquares(rows, x, y, [true, false, true]);
    }
  }
  const bits = withCheckBits(version, 0x1F25);
  for (let i = 0; version > 6 && i < 18; i++) {
    const short = i / 3 | 0, long = size - 11 + i % 3;
    rows[short][long] = rows[long][short] = Boolean(bits >> i & 1);
  }
  rows[size - 8][8] = true;
  drawFormat(rows, 0);
  return rows;
}

/** Returns the free modules as pairs of x and y, in the order of the data's bits. */
function path(rows) {
  const size = rows.length, modules = [];
  for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
    if (right === 6) right--;
    for (let i = 0; i < size; i++) {
      const y = isUp ? size - 1 - i : i;
      for (const x of [right, right - 1]) if (rows[y][x] === undefined) modules.push([x, y]);
    }
  }
  return modules;
}

/** Returns the data with its check bytes, interleaved by blocks. */
function interleaved(data, version) {
  const count = BLOCKS[version - 1], blocks = [];
  for (let i = 0, start = 0; i < count; i++) {
    // The last blocks are one byte longer if the data can't be divided.
    const end = start + Math.floor((data.length + i) / count);
    blocks.push(data.slice(start, end));
    start = end;
  }
  const mixed = (parts) =>
    parts.at(-1).flatMap((_, i) => parts.filter((part) => i < part.length).map((part) => part[i]));
  return [...mixed(blocks), ...mixed(blocks.map((block) => checkBytes(block, CHECKS[version - 1])))];
}

/** Returns how hard a symbol is to read, by the four rules of the standard. */
function penalty(rows) {
  const size = rows.length;
  const columns = rows.map((_, x) => rows.map((row) => row[x]));
  let sum = 0, dark = 0;
  for (const line of [...rows, ...columns]) {
    const text = line.map(Number).join("");
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
    sum += 40 * [...text.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  rows.forEach((row, y) => row.forEach((isDark, x) => {
    dark += isDark;
    if (x && y && [row[x - 1], rows[y - 1][x], rows[y - 1][x - 1]].every((other) => other === isDark)) sum += 3;
  }));
  return sum + 10 * Math.floor(Math.abs(20 * dark / size ** 2 - 10));
}

/** Returns a text as a QR code without its quiet zone: rows of modules, each true if dark. */
export function qr(text) {
  const bytes = [...new TextEncoder().encode(text)];
  for (let version = 1; version <= 15; version++) {
    const rows = frame(version), modules = path(rows);
    const room = (modules.length >> 3) - CHECKS[version - 1] * BLOCKS[version - 1];
    const digits = version < 10 ? 2 : 4;
    // The mode, the length, the bytes and the end take 4, 8 or 16, 8 each and 4 bits.
    if (bytes.length + 1 + digits / 2 > room) continue;
    const hex = (number, width) => number.toString(16).padStart(width, "0");
    const header = "4" + hex(bytes.length, digits);
    const data = (header + bytes.map((byte) => hex(byte, 2)).join("") + "0").match(/../g).map((pair) => parseInt(pair, 16));
    for (let i = 0; data.length < room; i++) data.push(i % 2 ? 0x11 : 0xEC);
    const sent = interleaved(data, version);
    const symbols = MASKS.map((mask, number) => {
      const symbol = rows.map((row) => [...row]);
      drawFormat(symbol, number);
      modules.forEach(([x, y], i) => { symbol[y][x] = Boolean(sent[i >> 3] >> 7 - i % 8 & 1) !== (mask(x, y) === 0); });
      return { symbol, penalty: penalty(symbol) };
    });
    return symbols.reduce((best, next) => next.penalty < best.penalty ? next : best).symbol;
  }
  throw new RangeError("The text is too long for a QR code.");
}
