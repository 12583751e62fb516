-- The chats and keys that the user gives to the dissector, and what they open: checks, sealed keys, handshakes and
-- sealed datagrams. See "Derivations" in wire.md. It uses nothing of Wireshark.
-- The file gives a function that takes inkling_crypto.lua; inkling.lua calls it once.

local BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local NOISE_NAME = "Noise_IKpsk2_25519_ChaChaPoly_SHA256"
local HEADER_SIZE = 9
local ZERO_KEY, ZERO_NONCE = ("\0"):rep(32), ("\0"):rep(12)

local function unhex(text)
    return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function number(bytes)
    local value = 0
    for at = 1, #bytes do value = value * 256 + bytes:byte(at) end
    return value
end

-- The groups of `from` bits as groups of `to` bits, and the bits that are left over.
local function regroup(groups, from, to)
    local result, bits, value = {}, 0, 0
    for _, group in ipairs(groups) do
        bits, value = bits + from, value * 2 ^ from + group
        while bits >= to do
            bits = bits - to
            result[#result + 1] = math.floor(value / 2 ^ bits)
            value = value % 2 ^ bits
        end
    end
    return result, value
end

-- The bytes of a text of that alphabet; nil if it has another character, another size or a spare bit that is set.
local function decoded(text, alphabet, size)
    local digits = {}
    for character in text:gmatch(".") do
        digits[#digits + 1] = (alphabet:find(character, 1, true) or 0) - 1
        if digits[#digits] < 0 then return nil end
    end
    local bytes, rest = regroup(digits, #alphabet == 32 and 5 or 6, 8)
    if #text ~= size or rest ~= 0 then return nil end
    for at, byte in ipairs(bytes) do bytes[at] = string.char(byte) end
    return table.concat(bytes)
end

-- Whether W-3 allows a static key: not zero, and below 2^255 - 19 as a little-endian number.
local function is_valid_key(key)
    local first, between, last = key:byte(1), key:sub(2, 31), key:byte(32)
    return key ~= ZERO_KEY and (last < 0x7f or last == 0x7f and (first < 0xed or between:find("[^\255]") ~= nil))
end

return function(crypto)
    local function kdf(key, salt, label) return (crypto.hkdf(salt, key, label, 1)) end

    -- The user ID of a key (W-5).
    local function user_id(key)
        local digits = regroup({ crypto.sha256(key):byte(1, 10) }, 8, 5)
        for at, digit in ipairs(digits) do digits[at] = BASE32:sub(digit + 1, digit + 1) end
        return table.concat(digits)
    end

    local Chat = {}
    Chat.__index = Chat

    local function new_chat(name, is_secret, chat_key)
        local chat = setmetatable({ name = name, is_secret = is_secret, key = chat_key }, Chat)
        for member, label in pairs({
            psk = "psk", prologue_key = "prologue", seal_key = "seal", initiation_key = "check initiation",
            ask_key = "check ask", name_key = "check name",
        }) do
            chat[member] = kdf(chat_key, "", "inkling/2 " .. label)
        end
        return chat
    end

    -- The chat of an invite (W-11, W-34) or open name (W-8); nil if an invite is not valid.
    local function chat_of(entry)
        local rest = entry:lower():find("^inkling:") and entry:sub(9)
        local name = (rest and (rest:match("^(.-)#") or "") or entry):gsub("%%(%x%x)", unhex)
        if not rest then return new_chat(name, false, crypto.sha256("inkling/2 open chat\0" .. name)) end
        local secret = decoded(rest:match("#([^@]*)") or "", BASE32, 26)
        local owner = rest:match("#[^@]*@(.*)$")
        local owner_key = owner and decoded(owner, BASE64, 43)
        if not secret or name == "" or owner and not (owner_key and is_valid_key(owner_key)) then return nil end
        return new_chat(name, true, kdf(secret, owner_key or "", "inkling/2 secret chat"))
    end

    -- The chats of a text with commas between them.
    local function chats_of(text)
        local chats = {}
        for entry in text:gmatch("[^,]+") do
            entry = entry:match("^%s*(.-)%s*$")
            local chat = entry ~= "" and chat_of(entry)
            if chat then
                chats[#chats + 1] = chat
            elseif entry ~= "" then
                print("Inkling: an invite is not valid; it is skipped")
            end
        end
        return chats
    end

    -- The key of a chat by which a check was made (CHECK of wire.md) tells the chat apart; nil if none fits.
    local function chat_by_check(chats, key_name, data, check)
        for _, chat in ipairs(chats) do
            if crypto.hmac(chat[key_name], data):sub(1, 8) == check then return chat end
        end
    end

    -- The static key in an instance key or, with a token, in a tell key (W-10); nil if it does not open.
    function Chat:open_static(sealed, nonce, token)
        local label = token and "inkling/2 tell" or "inkling/2 instance"
        return crypto.open(kdf(self.seal_key, (token or "") .. nonce, label), ZERO_NONCE, "", sealed)
    end

    -- The nonce of an instance name and the chat whose name it is (D-21); nil if it is none of these chats.
    local function read_instance_name(chats, name)
        local bytes = decoded(name:sub(1, 26):lower(), BASE32, 26)
        local chat = bytes and chat_by_check(chats, "name_key", bytes:sub(1, 8), bytes:sub(9))
        return chat and bytes:sub(1, 8), chat
    end

    local Keys = {}
    Keys.__index = Keys

    function Keys:add_transport(index, key)
        self.transport[index] = self.transport[index] or {}
        table.insert(self.transport[index], key)
    end

    -- A key that may be the responder's of a handshake.
    function Keys:add_public(key)
        if not self.publics[key] then table.insert(self.publics, key) end
        self.publics[key] = true
    end

    function Keys:add_line(word, key)
        if word == "public" then
            self:add_public(key)
        elseif word == "private" then
            local public = crypto.x25519(key, "\9" .. ZERO_KEY:sub(2))
            self.privates[public] = key
            self:add_public(public)
        else
            self:add_transport(tonumber(word, 16), key)
        end
    end

    -- Reads the lines that the file has got since the last call.
    function Keys:read_on()
        while self.file do
            local line = self.file:read("*L")
            if not line then break end
            self.line = self.line .. line
            local word, key = self.line:match("^%s*(%w+)%s+(%x+)%f[^%x]")
            local is_whole = word and #key == 64
                and (word == "public" or word == "private" or #word == 8 and not word:find("%X"))
            -- The last line may still be written.
            if not is_whole and not self.line:find("\n$") then break end
            if is_whole then
                self:add_line(word, unhex(key))
            elseif not self.line:find("^%s*#") and self.line:find("%S") then
                print("Inkling: the key file has a line that holds no key; it is skipped")
            end
            self.line = ""
        end
    end

    function Keys:close()
        if self.file then self.file:close() end
        self.file = nil
    end

    function Keys:has(index) return self.transport[index] ~= nil end

    -- The frames of a sealed datagram, or nil (W-19); then whether the index has a key.
    function Keys:unseal(bytes, index, counter)
        self:read_on()
        local header, sealed = bytes:sub(1, HEADER_SIZE), bytes:sub(HEADER_SIZE + 1)
        local nonce = "\0\0\0\0" .. crypto.little_endian(counter, 8)
        for _, key in ipairs(self.transport[index] or {}) do
            local frames = crypto.open(key, nonce, header, sealed)
            if frames then return frames, true end
        end
        return nil, self:has(index)
    end

    -- The X25519 result of two public keys, if the private key of one is known.
    function Keys:shared(one, other)
        if self.privates[one] then return crypto.x25519(self.privates[one], other) end
        return self.privates[other] and crypto.x25519(self.privates[other], one)
    end

    -- The symmetric state of Noise, section 5.2. Each of its keys seals one text, so all nonces are 0.
    local Noise = {}
    Noise.__index = Noise

    function Noise:mix_hash(data) self.hash = crypto.sha256(self.hash .. data) end

    function Noise:mix_key(material) self.chain, self.key = crypto.hkdf(self.chain, material, "", 2) end

    -- Mixes the X25519 result of two public keys; false if it is not known. A node refuses the result zero (W-4).
    function Noise:mix_shared(keys, one, other)
        local result = keys:shared(one, other)
        if result then self:mix_key(result) end
        self.has_zero = self.has_zero or result == ZERO_KEY
        return result ~= nil
    end

    function Noise:decrypt(sealed)
        local text = crypto.open(self.key, ZERO_NONCE, self.hash, sealed)
        self:mix_hash(sealed)
        return text
    end

    -- What message 1 of a handshake holds, with one key as the responder's; nil if the keys do not open it.
    local function open_first(keys, chat, prologue, message, responder)
        local hash = crypto.sha256(NOISE_NAME)
        local noise = setmetatable({ hash = hash, chain = hash }, Noise)
        noise:mix_hash(prologue)
        noise:mix_hash(responder)
        local ephemeral = message:sub(1, 32)
        noise:mix_hash(ephemeral)
        noise:mix_key(ephemeral)
        if not noise:mix_shared(keys, ephemeral, responder) then return nil end
        local initiator = noise:decrypt(message:sub(33, 80))
        if not initiator or not noise:mix_shared(keys, initiator, responder) then return nil end
        local payload = noise:decrypt(message:sub(81, 108))
        return payload and {
            chat = chat, noise = noise, ephemeral = ephemeral, initiator = initiator, responder = responder,
            run = payload:sub(1, 8), epoch = number(payload:sub(9)), has_zero = noise.has_zero,
        }
    end

    function Keys:open_first(chat, index, message)
        self:read_on()
        local prologue = "inkling/2\0\x21" .. index .. chat.prologue_key
        for _, responder in ipairs(self.publics) do
            local opened = open_first(self, chat, prologue, message, responder)
            if opened then return opened end
        end
    end

    -- What message 2 holds: the responder's index, run and epoch. It gives the transport keys to this table.
    function Keys:open_second(first, index, message)
        local noise = setmetatable({ hash = first.noise.hash, chain = first.noise.chain }, Noise)
        local ephemeral = message:sub(1, 32)
        noise:mix_hash(ephemeral)
        noise:mix_key(ephemeral)
        if not noise:mix_shared(self, first.ephemeral, ephemeral) then return nil end
        if not noise:mix_shared(self, first.initiator, ephemeral) then return nil end
        local mixed
        noise.chain, mixed, noise.key = crypto.hkdf(noise.chain, first.chat.psk, "", 3)
        noise:mix_hash(mixed)
        local payload = noise:decrypt(message:sub(33))
        if not payload then return nil end
        local second = {
            index = number(payload:sub(1, 4)), run = payload:sub(5, 12), epoch = number(payload:sub(13)),
            has_zero = noise.has_zero,
        }
        local forth, back = crypto.hkdf(noise.chain, "", "", 2)
        self:add_transport(second.index, forth)
        self:add_transport(index, back)
        return second
    end

    -- The file stays open: while a capture is running, it may grow.
    local function open(path)
        local keys = setmetatable({ transport = {}, privates = {}, publics = {}, line = "" }, Keys)
        if path ~= "" then
            local file, problem = io.open(path, "r")
            if not file then print("Inkling: can't read the key file: " .. problem) end
            keys.file = file
            keys:read_on()
        end
        return keys
    end

    return {
        open = open, chats_of = chats_of, chat_by_check = chat_by_check, read_instance_name = read_instance_name,
        decode_base64 = function(text, size) return decoded(text, BASE64, size) end, user_id = user_id,
        is_valid_key = is_valid_key,
    }
end
