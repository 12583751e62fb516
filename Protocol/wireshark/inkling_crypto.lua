-- What the dissector needs of cryptography: ChaCha20-Poly1305 (RFC 8439) to open sealed datagrams, and SHA-256 for chat
-- tags and user IDs. Wireshark gives scripts neither in all of its versions, so both are here in plain Lua 5.2 to 5.4.
-- Byte strings are Lua strings.

local WORD = 0x100000000
local floor, char = math.floor, string.char

-- bxor, band and rotate (to the left) of 32-bit words.
local bxor, band, rotate
if bit32 then
    bxor, band, rotate = bit32.bxor, bit32.band, bit32.lrotate
else
    -- Operators that Lua 5.2 can't parse.
    bxor, band, rotate = load([[
        local function bxor(a, b) return a ~ b end
        local function band(a, b) return a & b end
        local function rotate(a, n) return (a << n | a >> (32 - n)) & 0xffffffff end
        return bxor, band, rotate]])()
end

local function little_endian_words(bytes)
    local words = {}
    for at = 1, #bytes, 4 do
        local a, b, c, d = bytes:byte(at, at + 3)
        words[#words + 1] = a + b * 0x100 + c * 0x10000 + d * 0x1000000
    end
    return words
end

local function little_endian(number, size)
    local bytes = {}
    for at = 1, size do
        bytes[at] = char(number % 256)
        number = floor(number / 256)
    end
    return table.concat(bytes)
end

-- ChaCha20

local CONSTANTS = little_endian_words("expand 32-byte k")

local function quarter_round(s, a, b, c, d)
    s[a] = (s[a] + s[b]) % WORD
    s[d] = rotate(bxor(s[d], s[a]), 16)
    s[c] = (s[c] + s[d]) % WORD
    s[b] = rotate(bxor(s[b], s[c]), 12)
    s[a] = (s[a] + s[b]) % WORD
    s[d] = rotate(bxor(s[d], s[a]), 8)
    s[c] = (s[c] + s[d]) % WORD
    s[b] = rotate(bxor(s[b], s[c]), 7)
end

-- 64 bytes of the key stream: a key of 32 bytes, a nonce of 12.
local function chacha20_block(key, nonce, number)
    local start = {}
    for _, word in ipairs(CONSTANTS) do start[#start + 1] = word end
    for _, word in ipairs(little_endian_words(key)) do start[#start + 1] = word end
    start[#start + 1] = number
    for _, word in ipairs(little_endian_words(nonce)) do start[#start + 1] = word end
    local s = {}
    for at = 1, 16 do s[at] = start[at] end
    for _ = 1, 10 do
        quarter_round(s, 1, 5, 9, 13)
        quarter_round(s, 2, 6, 10, 14)
        quarter_round(s, 3, 7, 11, 15)
        quarter_round(s, 4, 8, 12, 16)
        quarter_round(s, 1, 6, 11, 16)
        quarter_round(s, 2, 7, 12, 13)
        quarter_round(s, 3, 8, 9, 14)
        quarter_round(s, 4, 5, 10, 15)
    end
    for at = 1, 16 do s[at] = little_endian((s[at] + start[at]) % WORD, 4) end
    return table.concat(s)
end

local function chacha20(key, nonce, text)
    local output = {}
    for at = 1, #text, 64 do
        local stream = chacha20_block(key, nonce, (at - 1) / 64 + 1)
        local piece = text:sub(at, at + 63)
        for i = 1, #piece do output[#output + 1] = char(bxor(piece:byte(i), stream:byte(i))) end
    end
    return table.concat(output)
end

-- Poly1305, with numbers as 17 limbs of 8 bits, the lowest first: every sum below stays far under 2^53.

local function limbs(bytes)
    local numbers = { bytes:byte(1, -1) }
    for at = #numbers + 1, 17 do numbers[at] = 0 end
    return numbers
end

-- h + c, not reduced
local function add(h, c)
    local carry = 0
    for at = 1, 17 do
        carry = carry + h[at] + c[at]
        h[at] = carry % 256
        carry = floor(carry / 256)
    end
end

-- h * r modulo 2^130 - 5, up to a last subtraction
local function multiply(h, r)
    local x = {}
    for i = 1, 17 do
        local sum = 0
        for j = 1, i do sum = sum + h[j] * r[i - j + 1] end
        -- 2^136 is 320 modulo 2^130 - 5.
        for j = i + 1, 17 do sum = sum + 320 * h[j] * r[i + 18 - j] end
        x[i] = sum
    end
    local carry = 0
    for at = 1, 16 do
        carry = carry + x[at]
        h[at] = carry % 256
        carry = floor(carry / 256)
    end
    carry = carry + x[17]
    h[17] = carry % 4
    carry = 5 * floor(carry / 4)
    for at = 1, 17 do
        carry = carry + h[at]
        h[at] = carry % 256
        carry = floor(carry / 256)
    end
end

local function poly1305(key, message)
    local r = limbs(key:sub(1, 16))
    for _, at in ipairs({ 4, 8, 12, 16 }) do r[at] = band(r[at], 15) end
    for _, at in ipairs({ 5, 9, 13 }) do r[at] = band(r[at], 252) end
    local h = limbs("")
    for at = 1, #message, 16 do
        add(h, limbs(message:sub(at, at + 15) .. "\1"))
        multiply(h, r)
    end
    -- If h is 2^130 - 5 or more, h + 5 reaches 2^130.
    local reduced = { table.unpack(h) }
    add(reduced, limbs("\5"))
    if reduced[17] >= 4 then h = reduced end
    add(h, limbs(key:sub(17, 32)))
    return char(table.unpack(h, 1, 16))
end

-- The AEAD

local function padding(bytes) return ("\0"):rep(-#bytes % 16) end

-- The plaintext of a ciphertext with its tag; nil where the tag is not the right one. Whoever reads a capture has all
-- of it, so the comparison may take any time.
local function open(key, nonce, associated, sealed)
    local ciphertext, tag = sealed:sub(1, -17), sealed:sub(-16)
    local authenticated = associated .. padding(associated) .. ciphertext .. padding(ciphertext)
        .. little_endian(#associated, 8) .. little_endian(#ciphertext, 8)
    if poly1305(chacha20_block(key, nonce, 0):sub(1, 32), authenticated) ~= tag then return nil end
    return chacha20(key, nonce, ciphertext)
end

-- SHA-256

local function bits_of_root(root)
    return floor(root % 1 * WORD)
end

-- The first 64 primes give the constants: the first 32 bits of the fractions of their cube roots, and of the square
-- roots of the first eight.
local ROUND_CONSTANTS, FIRST_STATE = {}, {}
do
    local candidate = 2
    while #ROUND_CONSTANTS < 64 do
        local prime = true
        for divisor = 2, floor(candidate ^ 0.5) do
            if candidate % divisor == 0 then prime = false end
        end
        if prime then
            ROUND_CONSTANTS[#ROUND_CONSTANTS + 1] = bits_of_root(candidate ^ (1 / 3))
            if #FIRST_STATE < 8 then FIRST_STATE[#FIRST_STATE + 1] = bits_of_root(candidate ^ 0.5) end
        end
        candidate = candidate + 1
    end
end

local function big_endian(number, size) return little_endian(number, size):reverse() end

local function rotated(word, first, second, third)
    return bxor(bxor(rotate(word, 32 - first), rotate(word, 32 - second)), third)
end

local function schedule(block)
    local w = {}
    for at = 1, 16 do
        local a, b, c, d = block:byte(at * 4 - 3, at * 4)
        w[at] = a * 0x1000000 + b * 0x10000 + c * 0x100 + d
    end
    for at = 17, 64 do
        local low = rotated(w[at - 15], 7, 18, floor(w[at - 15] / 8))
        local high = rotated(w[at - 2], 17, 19, floor(w[at - 2] / 1024))
        w[at] = (w[at - 16] + low + w[at - 7] + high) % WORD
    end
    return w
end

local function sha256(text)
    local message = text .. "\128" .. ("\0"):rep((-#text - 9) % 64) .. big_endian(#text * 8, 8)
    local state = { table.unpack(FIRST_STATE) }
    for start = 1, #message, 64 do
        local w = schedule(message:sub(start, start + 63))
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
    for at = 1, 8 do state[at] = big_endian(state[at], 4) end
    return table.concat(state)
end

return { open = open, poly1305 = poly1305, sha256 = sha256, little_endian = little_endian }
