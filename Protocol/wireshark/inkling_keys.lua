-- The chats and keys that the user gives to the dissector. They open checks, sealed keys, handshakes and sealed
-- datagrams. See "Derivations" in wire.md. It uses nothing of Wireshark.
-- The file returns a function that takes inkling_crypto.lua; inkling.lua calls it once.

local BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local USES = { "psk", "prologue", "seal", "check initiation", "check ask", "check name" }
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
            result[#result + 1], value = math.floor(value / 2 ^ bits), value % 2 ^ bits
        end
    end
    return result, value
end

-- The bytes of a text of that alphabet; nil if it has another character, another size or a spare bit that is set.
local function decoded(text, alphabet, size)
    local digits = {}
    for at = 1, #text do
        local digit = alphabet:find(text:sub(at, at), 1, true)
        if not digit then return nil end
        digits[at] = digit - 1
    end
    local bytes, rest = regroup(digits, #alphabet == 32 and 5 or 6, 8)
    return #text == size and rest == 0 and string.char(table.unpack(bytes)) or nil
end

-- Whether W-3 allows a static key: not zero, and below 2^255 - 19 as a little-endian number.
local function is_valid_key(key)
    local first, between, last = key:byte(1), key:sub(2, 31), key:byte(32)
    return key ~= ZERO_KEY and (last < 0x7f or last == 0x7f and (first < 0xed or between:find("[^\255]") ~= nil))
end

return function(crypto)
    local function kdf(key, salt, label) return (crypto.hkdf(salt, key, "inkling/2 " .. label, 1)) end

    -- The user ID of a key (W-5).
    local function user_id(key)
        local digits = regroup({ crypto.sha256(key):byte(1, 10) }, 8, 5)
        for at, digit in ipairs(digits) do digits[at] = BASE32:sub(digit + 1, digit + 1) end
        return table.concat(digits)
    end

    -- The chat of an invite (W-11, W-34) or of the name of an open chat (W-8); nil if an invite is not valid. It has
    -- the derived keys by their uses.
    local function chat_of(entry)
        local rest = entry:lower():find("^inkling:") and entry:sub(9)
        local name = (rest and rest:match("^[^#]*") or entry):gsub("%%(%x%x)", unhex)
        local chat = { name = name, is_secret = rest and true or false }
        if rest then
            local secret, owner_text = decoded(rest:match("#([^@]*)") or "", BASE32, 26), rest:match("#[^@]*@(.*)$")
            local owner = owner_text and decoded(owner_text, BASE64, 43)
            if not secret or name == "" or owner_text and not (owner and is_valid_key(owner)) then return nil end
            chat.key = kdf(secret, owner or "", "secret chat")
        else
            chat.key = crypto.sha256("inkling/2 open chat\0" .. name)
        end
        for _, use in ipairs(USES) do chat[use] = kdf(chat.key, "", use) end
        return chat
    end

    -- The chats of a text with commas between them.
    local function chats_of(text)
        local chats = {}
        for entry in text:gmatch("%s*([^,]*[^,%s])") do
            local chat = chat_of(entry)
            if not chat then print("Inkling: an invite is not valid; it is skipped") end
            chats[#chats + 1] = chat
        end
        return chats
    end

    -- The chat under whose key for that use a check was made, or nil.
    local function chat_by_check(chats, use, data, check)
        for _, chat in ipairs(chats) do
            if crypto.hmac(chat["check " .. use], data):sub(1, 8) == check then return chat end
        end
    end

    -- The static key in an instance key or, with a token, in a tell key (W-10); nil if it does not open.
    local function open_static(chat, sealed, nonce, token)
        local key = kdf(chat.seal, (token or "") .. nonce, token and "tell" or "instance")
        return crypto.open(key, ZERO_NONCE, "", sealed)
    end

    -- The nonce and the chat of an instance name (D-21), or nil.
    local function read_instance_name(chats, name)
        local bytes = decoded(name:sub(1, 26):lower(), BASE32, 26)
        local chat = bytes and chat_by_check(chats, "name", bytes:sub(1, 8), bytes:sub(9))
        return chat and bytes:sub(1, 8), chat
    end

    -- `transport` has lists of keys by receiver index, `privates` private keys by their public ones; `publics` lists
    -- the keys that may be a responder's. `public_keys` saves time when a file is read again.
    local Keys, public_keys = {}, {}
    Keys.__index = Keys

    local function open(path)
        local keys = { path = path, size = 0, lines = {}, transport = {}, privates = {}, publics = {} }
        return setmetatable(keys, Keys)
    end

    function Keys:add_transport(index, key)
        self.transport[index] = self.transport[index] or {}
        table.insert(self.transport[index], key)
    end

    function Keys:add_public(key)
        if not self.publics[key] then table.insert(self.publics, key) end
        self.publics[key] = true
    end

    -- Takes the lines that the file has got since the last call: while a capture is running, it may grow.
    function Keys:read_on()
        local file, problem = io.open(self.path)
        if not file then
            if self.path ~= "" then print("Inkling: can't read the key file: " .. problem) end
            self.path = ""
            return
        end
        local size = file:seek("end")
        file:seek("set")
        for line in size ~= self.size and file:lines() or function() end do
            local word, digits = line:match("^%s*(%w+)%s+(%x+)%f[^%x]")
            if digits and #digits == 64 and not self.lines[line] then
                local key = unhex(digits)
                self.lines[line] = true
                if word == "private" then
                    local public = public_keys[key] or crypto.x25519(key, "\9" .. ZERO_KEY:sub(2))
                    public_keys[key] = public
                    self.privates[public] = key
                    self:add_public(public)
                elseif word == "public" then
                    self:add_public(key)
                elseif word:find("^%x+$") and #word == 8 then
                    self:add_transport(tonumber(word, 16), key)
                end
            end
        end
        self.size = size
        file:close()
    end

    -- The frames of a sealed datagram, or nil (W-19); then whether the index has a key.
    function Keys:unseal(bytes, index, counter)
        self:read_on()
        local nonce = "\0\0\0\0" .. crypto.little_endian(counter, 8)
        for _, key in ipairs(self.transport[index] or {}) do
            local frames = crypto.open(key, nonce, bytes:sub(1, HEADER_SIZE), bytes:sub(HEADER_SIZE + 1))
            if frames then return frames, true end
        end
        return nil, self.transport[index] ~= nil
    end

    -- The symmetric state of Noise, section 5.2. Each of its keys seals one text, so all nonces are 0.
    local Noise = {}
    Noise.__index = Noise

    function Noise:mix_hash(data) self.hash = crypto.sha256(self.hash .. data) end

    function Noise:mix_key(material) self.chain, self.key = crypto.hkdf(self.chain, material, "", 2) end

    function Noise:mix_ephemeral(ephemeral)
        self:mix_hash(ephemeral)
        self:mix_key(ephemeral)
    end

    -- Mixes the X25519 result of two public keys; false if neither's private key is known. A node refuses the result
    -- zero (W-4).
    function Noise:mix_shared(keys, one, other)
        if not keys.privates[one] then one, other = other, one end
        if not keys.privates[one] then return false end
        local result = crypto.x25519(keys.privates[one], other)
        self:mix_key(result)
        self.has_zero = self.has_zero or result == ZERO_KEY
        return true
    end

    function Noise:decrypt(sealed)
        local text = crypto.open(self.key, ZERO_NONCE, self.hash, sealed)
        self:mix_hash(sealed)
        return text
    end

    -- Returns the contents of message 1 with one key as the responder's, or nil if the keys do not open it.
    local function open_first(keys, chat, index, message, responder)
        local noise, ephemeral = setmetatable({ chain = crypto.sha256(NOISE_NAME) }, Noise), message:sub(1, 32)
        noise.hash = noise.chain
        noise:mix_hash("inkling/2\0\x21" .. index .. chat.prologue)
        noise:mix_hash(responder)
        noise:mix_ephemeral(ephemeral)
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
        for _, responder in ipairs(self.publics) do
            local first = open_first(self, chat, index, message, responder)
            if first then return first end
        end
    end

    -- Returns the contents of message 2, or nil: the responder's index, run and epoch. Adds the transport keys.
    function Keys:open_second(first, index, message)
        local noise = setmetatable({ hash = first.noise.hash, chain = first.noise.chain }, Noise)
        local ephemeral, mixed = message:sub(1, 32), nil
        noise:mix_ephemeral(ephemeral)
        if not noise:mix_shared(self, first.ephemeral, ephemeral) then return nil end
        if not noise:mix_shared(self, first.initiator, ephemeral) then return nil end
        noise.chain, mixed, noise.key = crypto.hkdf(noise.chain, first.chat.psk, "", 3)
        noise:mix_hash(mixed)
        local payload = noise:decrypt(message:sub(33))
        if not payload then return nil end
        local responder_index, forth, back = number(payload:sub(1, 4)), crypto.hkdf(noise.chain, "", "", 2)
        self:add_transport(responder_index, forth)
        self:add_transport(number(index), back)
        return {
            index = responder_index, run = payload:sub(5, 12), epoch = number(payload:sub(13)),
            has_zero = noise.has_zero,
        }
    end

    return {
        open = open, chats_of = chats_of, chat_by_check = chat_by_check, read_instance_name = read_instance_name,
        open_static = open_static, user_id = user_id, is_valid_key = is_valid_key,
        decode_base64 = function(text, size) return decoded(text, BASE64, size) end,
    }
end
