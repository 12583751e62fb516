-- The dissector's cryptography in plain Lua 5.2 to 5.4, because not all versions of Wireshark offer it to scripts:
-- ChaCha20-Poly1305 (RFC 8439), SHA-256, HMAC, HKDF (RFC 5869) and X25519 (RFC 7748). Byte strings are Lua strings.

local WORD, LIMB = 0x100000000, 0x10000
local floor, char = math.floor, string.char

-- bxor, band and rotate (to the left) of 32-bit words.
local bxor, band, rotate
if bit32 then
    bxor, band, rotate = bit32.bxor, bit32.band, bit32.lrotate
else
    -- Lua 5.2 can't parse these operators.
    bxor, band, rotate = load([[return function(a, b) return a ~ b end, function(a, b) return a & b end,
        function(a, n) return (a << n | a >> (32 - n)) & 0xffffffff end]])()
end

local function little_endian(number, size)
    local bytes = {}
    for at = 1, size do
        bytes[at] = char(number % 256)
        number = floor(number / 256)
    end
    return table.concat(bytes)
end

-- At least `count` numbers of `size` bytes each, the lowest byte first.
local function numbers(bytes, size, count)
    local list = {}
    for at = 1, math.max(#bytes, size * count), size do
        local number = 0
        for i = at + size - 1, at, -1 do number = number * 256 + (bytes:byte(i) or 0) end
        list[#list + 1] = number
    end
    return list
end

-- ChaCha20

local function quarter_round(s, a, b, c, d)
    for _, bits in ipairs({ 16, 8 }) do
        s[a] = (s[a] + s[b]) % WORD
        s[d] = rotate(bxor(s[d], s[a]), bits)
        s[c] = (s[c] + s[d]) % WORD
        s[b] = rotate(bxor(s[b], s[c]), bits == 16 and 12 or 7)
    end
end

-- 64 bytes of the key stream: a key of 32 bytes, a nonce of 12.
local function chacha20_block(key, nonce, number)
    local start = numbers("expand 32-byte k" .. key .. little_endian(number, 4) .. nonce, 4, 16)
    local s = { table.unpack(start) }
    for _ = 1, 10 do
        for i = 1, 4 do quarter_round(s, i, i + 4, i + 8, i + 12) end
        for i = 0, 3 do quarter_round(s, i + 1, (i + 1) % 4 + 5, (i + 2) % 4 + 9, (i + 3) % 4 + 13) end
    end
    for at = 1, 16 do s[at] = little_endian((s[at] + start[at]) % WORD, 4) end
    return table.concat(s)
end

-- Large numbers: n limbs of 16 bits, the lowest first. 2^(16 n) is the same as `fold` modulo the prime. All sums below
-- stay under 2^53.

-- Brings each limb into its range.
local function carry(x, n, fold)
    local rest = 0
    repeat
        for at = 1, n do
            rest = rest + x[at]
            x[at] = rest % LIMB
            rest = floor(rest / LIMB)
        end
        rest = rest * fold
    until rest == 0
    return x
end

-- a + sign * b, not carried
local function combine(a, b, sign)
    local sum = {}
    for at = 1, #a do sum[at] = a[at] + sign * b[at] end
    return sum
end

local function multiply(a, b, n, fold)
    local product = {}
    for i = 1, n do
        local low, high = 0, 0
        for j = 1, i do low = low + a[j] * b[i - j + 1] end
        for j = i + 1, n do high = high + a[j] * b[i + n + 1 - j] end
        product[i] = low + fold * high
    end
    return carry(product, n, fold)
end

-- The least remainder by the prime 2^(16 (n - 1)) * top - small.
local function remainder(x, n, fold, top, small)
    x[1], x[n] = x[1] + floor(x[n] / top) * small, x[n] % top
    local reduced = { table.unpack(carry(x, n, fold)) }
    reduced[1] = reduced[1] + small
    if carry(reduced, n, fold)[n] < top then return x end
    reduced[n] = reduced[n] - top
    return reduced
end

local function bytes_of(x, count)
    local bytes = {}
    for at = 1, count do bytes[at] = little_endian(x[at], 2) end
    return table.concat(bytes)
end

-- 9 limbs: 2^144 is 5 * 2^14 modulo 2^130 - 5.
local function poly1305(key, message)
    local r, h = numbers(key:sub(1, 16), 2, 9), numbers("", 2, 9)
    for at = 2, 8 do r[at] = band(r[at], at % 2 == 0 and 0x0fff or 0xfffc) end
    for at = 1, #message, 16 do
        h = combine(h, numbers(message:sub(at, at + 15) .. "\1", 2, 9), 1)
        h = multiply(carry(h, 9, 81920), r, 9, 81920)
    end
    h = combine(remainder(h, 9, 81920, 4, 5), numbers(key:sub(17, 32), 2, 9), 1)
    return bytes_of(carry(h, 9, 81920), 8)
end

-- Opens a ciphertext with its tag (AEAD); nil if the tag differs. The reader of a capture has all of it, so the
-- comparison may take any time.
local function open(key, nonce, associated, sealed)
    local function padded(bytes) return bytes .. ("\0"):rep(-#bytes % 16) end
    local ciphertext, tag, text = sealed:sub(1, -17), sealed:sub(-16), {}
    local authenticated = padded(associated) .. padded(ciphertext) .. little_endian(#associated, 8)
        .. little_endian(#ciphertext, 8)
    if poly1305(chacha20_block(key, nonce, 0):sub(1, 32), authenticated) ~= tag then return nil end
    for at = 1, #ciphertext, 64 do
        local stream = chacha20_block(key, nonce, (at - 1) / 64 + 1)
        for i = at, math.min(at + 63, #ciphertext) do
            text[i] = char(bxor(ciphertext:byte(i), stream:byte(i - at + 1)))
        end
    end
    return table.concat(text)
end

-- 16 limbs: 2^256 is 38 modulo 2^255 - 19.
local function x25519(private, public)
    local function times(a, b) return multiply(a, b, 16, 38) end
    local scalar = { private:byte(1, 32) }
    scalar[1], scalar[32] = band(scalar[1], 0xf8), band(scalar[32], 0x3f) + 0x40
    local u, factor = numbers(public, 2, 16), numbers("\x41\xdb\1", 2, 16)
    u[16] = u[16] % 0x8000
    local x2, z2, x3, z3, swapped = numbers("\1", 2, 16), numbers("", 2, 16), u, numbers("\1", 2, 16), 0
    for at = 254, 0, -1 do
        local bit = floor(scalar[floor(at / 8) + 1] / 2 ^ (at % 8)) % 2
        if bit ~= swapped then x2, z2, x3, z3 = x3, z3, x2, z2 end
        swapped = bit
        local a, b = combine(x2, z2, 1), combine(x2, z2, -1)
        local da, cb = times(combine(x3, z3, -1), a), times(combine(x3, z3, 1), b)
        local aa, bb = times(a, a), times(b, b)
        local e, sum, difference = combine(aa, bb, -1), combine(da, cb, 1), combine(da, cb, -1)
        x3, z3 = times(sum, sum), times(u, times(difference, difference))
        x2, z2 = times(aa, bb), times(e, combine(aa, times(factor, e), 1))
    end
    if swapped == 1 then x2, z2 = x3, z3 end
    -- z2 to the power of 2^255 - 21, of which only the bits 2 and 4 are 0.
    local inverse = z2
    for bit = 253, 0, -1 do
        inverse = times(inverse, inverse)
        if bit ~= 2 and bit ~= 4 then inverse = times(inverse, z2) end
    end
    return bytes_of(remainder(times(x2, inverse), 16, 38, 0x8000, 19), 16)
end

-- SHA-256. The constants are the first 32 bits of the fractions of roots: of the cube roots of the first 64 primes, and
-- of the square roots of the first eight.
local ROUND_CONSTANTS, FIRST_STATE = {}, {}
for candidate = 2, 311 do
    local is_prime = true
    for divisor = 2, floor(candidate ^ 0.5) do is_prime = is_prime and candidate % divisor ~= 0 end
    if is_prime then
        ROUND_CONSTANTS[#ROUND_CONSTANTS + 1] = floor(candidate ^ (1 / 3) % 1 * WORD)
        if #FIRST_STATE < 8 then FIRST_STATE[#FIRST_STATE + 1] = floor(candidate ^ 0.5 % 1 * WORD) end
    end
end

local function rotated(word, first, second, third)
    return bxor(bxor(rotate(word, 32 - first), rotate(word, 32 - second)), third)
end

local function sha256(text)
    local message = text .. "\128" .. ("\0"):rep((-#text - 9) % 64) .. little_endian(#text * 8, 8):reverse()
    local state = { table.unpack(FIRST_STATE) }
    for start = 1, #message, 64 do
        local w = {}
        for at = 1, 64 do
            if at <= 16 then
                w[at] = numbers(message:sub(start + 4 * at - 4, start + 4 * at - 1):reverse(), 4, 1)[1]
            else
                local low = rotated(w[at - 15], 7, 18, floor(w[at - 15] / 8))
                local high = rotated(w[at - 2], 17, 19, floor(w[at - 2] / 1024))
                w[at] = (w[at - 16] + low + w[at - 7] + high) % WORD
            end
        end
        local a, b, c, d, e, f, g, h = table.unpack(state)
        for at = 1, 64 do
            local choice = bxor(band(e, f), band(WORD - 1 - e, g))
            local majority = bxor(bxor(band(a, b), band(a, c)), band(b, c))
            local first = h + rotated(e, 6, 11, rotate(e, 32 - 25)) + choice + ROUND_CONSTANTS[at] + w[at]
            local second = rotated(a, 2, 13, rotate(a, 32 - 22)) + majority
            a, b, c, d, e, f, g, h = (first + second) % WORD, a, b, c, (d + first) % WORD, e, f, g
        end
        for at, word in ipairs({ a, b, c, d, e, f, g, h }) do state[at] = (state[at] + word) % WORD end
    end
    for at = 1, 8 do state[at] = little_endian(state[at], 4):reverse() end
    return table.concat(state)
end

-- All keys here are at most 64 bytes long.
local function hmac(key, text)
    local function padded(byte)
        return (key .. ("\0"):rep(64 - #key)):gsub(".", function(c) return char(bxor(c:byte(), byte)) end)
    end
    return sha256(padded(0x5c) .. sha256(padded(0x36) .. text))
end

-- As many outputs of 32 bytes as `count` says.
local function hkdf(salt, material, info, count)
    local secret, outputs = hmac(salt, material), { [0] = "" }
    for number = 1, count do outputs[number] = hmac(secret, outputs[number - 1] .. info .. char(number)) end
    return table.unpack(outputs)
end

return {
    open = open, poly1305 = poly1305, sha256 = sha256, hmac = hmac, hkdf = hkdf, x25519 = x25519,
    little_endian = little_endian,
}
