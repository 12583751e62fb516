-- A Wireshark dissector for Inkling, written from ../wire.md and ../registry.md. README.md says how to use it.
-- This file has the datagrams; beside it lie the frames, the sessions, the keys and the cryptography.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local crypto = dofile(here .. "inkling_crypto.lua")
local frames = dofile(here .. "inkling_frames.lua")()
local key_files = dofile(here .. "inkling_keys.lua")(crypto)
local sessions = dofile(here .. "inkling_sessions.lua")

local inkling = Proto("inkling", "Inkling")
-- To be made before any dissector is registered.
local icmp, icmpv6 = Field.new("icmp"), Field.new("icmpv6")

local VERSION = 1
local INITIATION, RESPONSE, SEALED, RETRY, ASK, TELL = 1, 2, 3, 4, 5, 6
local KINDS = {
    [INITIATION] = "initiation", [RESPONSE] = "response", [SEALED] = "sealed", [RETRY] = "retry", [ASK] = "ask",
    [TELL] = "tell",
}
-- The lengths of each kind, and what of it an index, counter, tag or token takes.
local LENGTHS = {
    [INITIATION] = { 109, 125 }, [RESPONSE] = { 57 }, [RETRY] = { 21 }, [ASK] = { 45 }, [TELL] = { 45 },
}
local HEADERS = { [INITIATION] = 13, [RESPONSE] = 5, [SEALED] = 9, [RETRY] = 5, [ASK] = 13, [TELL] = 5 }
local MINIMUM_SEALED_SIZE, MAXIMUM_DATAGRAM_SIZE = 27, 1200
local SEALED_HEADER_SIZE, AUTHENTICATION_TAG_SIZE = 9, 16
local LAST_WILL_COUNTER, UNUSED_COUNTER = 0xffffffff, 0xfffffffe
-- Below this, a counter of an unknown index is taken for a counter.
local USUAL_COUNTERS = 0x1000000

local DIRECTIONS = { [0] = "not known", [1] = "from the initiator", [2] = "from the responder" }

local f = {
    version = ProtoField.uint8("inkling.version", "Version", base.DEC, nil, 0xf0),
    kind = ProtoField.uint8("inkling.kind", "Kind", base.DEC, KINDS, 0x0f),
    sender_index = ProtoField.uint32("inkling.sender_index", "Sender index", base.HEX),
    receiver_index = ProtoField.uint32("inkling.receiver_index", "Receiver index", base.HEX),
    tag = ProtoField.uint64("inkling.tag", "Chat tag", base.HEX),
    chat = ProtoField.string("inkling.chat", "Chat"),
    noise = ProtoField.bytes("inkling.noise", "Noise message"),
    ephemeral = ProtoField.bytes("inkling.noise.ephemeral", "Ephemeral key"),
    static = ProtoField.bytes("inkling.noise.static", "Encrypted static key"),
    index = ProtoField.bytes("inkling.noise.index", "Encrypted index of the responder"),
    noise_tag = ProtoField.bytes("inkling.noise.tag", "Authentication tag"),
    cookie = ProtoField.bytes("inkling.cookie", "Cookie"),
    counter = ProtoField.uint32("inkling.counter", "Counter", base.DEC),
    sealed = ProtoField.bytes("inkling.frames.sealed", "Encrypted frames"),
    size = ProtoField.uint16("inkling.frames.length", "Length of the frames", base.DEC),
    seal = ProtoField.bytes("inkling.authentication_tag", "Authentication tag"),
    token = ProtoField.uint32("inkling.token", "Token", base.HEX),
    zero = ProtoField.bytes("inkling.zero", "Zero"),
    nonce = ProtoField.bytes("inkling.nonce", "Nonce of the key mask"),
    key = ProtoField.bytes("inkling.key", "Static key"),
    user = ProtoField.string("inkling.user_id", "User ID"),
    unparsed = ProtoField.bytes("inkling.unparsed", "Not parsed"),
    session = ProtoField.uint32("inkling.session", "Session", base.DEC),
    direction = ProtoField.uint8("inkling.direction", "Direction", base.DEC, DIRECTIONS),
    initiation_frame = ProtoField.framenum("inkling.initiation_frame", "Initiation in frame", base.NONE,
        frametype.REQUEST),
    response_frame = ProtoField.framenum("inkling.response_frame", "Response in frame", base.NONE, frametype.RESPONSE),
    retry_frame = ProtoField.framenum("inkling.retry_frame", "Retry in frame", base.NONE),
    ask_frame = ProtoField.framenum("inkling.ask_frame", "Ask in frame", base.NONE, frametype.REQUEST),
    tell_frame = ProtoField.framenum("inkling.tell_frame", "Tell in frame", base.NONE, frametype.RESPONSE),
    repeat_of = ProtoField.framenum("inkling.repeat_of", "First sent in frame", base.NONE),
}

local function malformed(name, text)
    return ProtoExpert.new("inkling.error." .. name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local function noted(name, text, group, severity)
    return ProtoExpert.new("inkling.note." .. name, text, group or expert.group.SEQUENCE,
        severity or expert.severity.NOTE)
end
local e = {
    version = malformed("version", "Not version 1: a node drops it (W-12)"),
    kind = malformed("kind", "An unassigned kind: a node drops it (W-12)"),
    length = malformed("length", "No datagram of this kind has this length: a node drops it (W-13)"),
    padding = malformed("padding", "The last 32 bytes of an ask are not all zero: a node drops it (W-14)"),
    counter = malformed("counter", "No datagram has the counter 2^32 - 2: a node drops it (W-20)"),
    key = malformed("key", "Not a valid static key: a node refuses it (W-3)"),
    authentication = ProtoExpert.new("inkling.error.authentication", "No key that is given for the index opens it",
        expert.group.UNDECODED, expert.severity.WARN),
    last_will = noted("last_will", "The last will: another process says that its sender died (W-21)"),
    again = noted("repeated", "The counter occurred before: a node drops it (W-22)"),
    old = noted("old", "The counter lies 1,024 or more below the highest one: a node drops it (W-22)"),
    ambiguous = noted("ambiguous", "Several handshakes were made at once: the session is that of one of them"),
    cut = noted("cut", "Not all of the datagram was captured", expert.group.UNDECODED),
}

do
    local fields, experts = {}, {}
    for _, part in ipairs({ f, frames.fields }) do
        for _, field in pairs(part) do fields[#fields + 1] = field end
    end
    for _, part in ipairs({ e, frames.experts }) do
        for _, one in pairs(part) do experts[#experts + 1] = one end
    end
    inkling.fields, inkling.experts = fields, experts
end

-- Preferences

inkling.prefs.ports = Pref.range("UDP ports", "", "All datagrams of these ports are taken for Inkling, malformed ones "
    .. "too, e.g. 40000-40010. Without a port, datagrams are recognised by their form.", 65535)
inkling.prefs.chats = Pref.string("Names of open chats", "", "Names of open chats, with commas between them; their "
    .. "tags are computed. NAME=TAG names the chat of a tag of 16 hex digits. In a name, write %2C for a comma, %3D "
    .. "for = and %25 for %.")
inkling.prefs.key_file = Pref.string("Key file", "", "A file of transport keys, by which sealed datagrams are opened. "
    .. "Each line has a receiver index (8 hex digits) and the key (64 hex digits) of what is sent to it.")

local udp_ports = DissectorTable.get("udp.port")
local ports = ""
-- Names by the 8 bytes of their tag; keys by receiver index.
local chat_names, keys = {}, key_files.open("")

local function apply_preferences()
    if inkling.prefs.ports ~= ports then
        if ports ~= "" then udp_ports:remove(ports, inkling) end
        ports = inkling.prefs.ports
        if ports ~= "" then udp_ports:add(ports, inkling) end
    end
    chat_names = key_files.chat_names(inkling.prefs.chats)
    keys:close()
    keys = key_files.open(inkling.prefs.key_file)
end

-- What is known of the datagrams of the capture: `known` holds what was found when a datagram was first seen.
local tracker, known = sessions.new(), {}

function inkling.prefs_changed() apply_preferences() end

function inkling.init()
    tracker, known = sessions.new(), {}
    keys:close()
    keys = key_files.open(inkling.prefs.key_file)
end

-- What `find` gives for this datagram when it is first seen; the same for all later looks at it.
local function remembered(tvb, pinfo, find)
    local key = pinfo.number .. ":" .. tvb:raw(0, math.min(tvb:len(), 13))
    if known[key] == nil then
        local source = tostring(pinfo.src) .. " " .. pinfo.src_port
        local destination = tostring(pinfo.dst) .. " " .. pinfo.dst_port
        known[key] = find(source, destination)
    end
    return known[key]
end

-- Drawing

-- Adds a field if its bytes were captured.
local function add(tree, field, tvb, offset, size)
    if offset + size <= tvb:len() then return tree:add(field, tvb(offset, size)) end
end

local function add_generated(tree, field, value) tree:add(field, value):set_generated() end

local function add_chat_name(tree, tag)
    if chat_names[tag] then add_generated(tree, f.chat, chat_names[tag]) end
end

-- Adds the tag that another datagram gave.
local function add_chat(tree, tag)
    local bytes = { tag:byte(1, 8) }
    local function word(at) return ((bytes[at] * 256 + bytes[at + 1]) * 256 + bytes[at + 2]) * 256 + bytes[at + 3] end
    add_generated(tree, f.tag, UInt64.new(word(5), word(1)))
    add_chat_name(tree, tag)
end

local function chat_words(tag)
    local hex = tag:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
    return chat_names[tag] and ("chat %s (%s)"):format(hex, chat_names[tag]) or "chat " .. hex
end

-- Adds the frames of a handshake, but for the one that shows it.
local function add_handshake(tree, handshake, own_frame)
    for _, frame in ipairs(handshake.initiations) do
        if frame ~= own_frame then
            add_generated(tree, f.initiation_frame, frame)
            break
        end
    end
    if handshake.responses[1] and handshake.responses[1] ~= own_frame then
        add_generated(tree, f.response_frame, handshake.responses[1])
    end
end

local draw = {}

draw[INITIATION] = function(tvb, pinfo, tree)
    local index, tag, with_cookie = tvb(1, 4):uint(), tvb(5, 8):raw(), tvb:reported_len() == 125
    local found = remembered(tvb, pinfo, function(source, destination)
        return tracker:initiation(pinfo.number, source, destination, index, tag, tvb:raw())
    end)
    add(tree, f.sender_index, tvb, 1, 4)
    add(tree, f.tag, tvb, 5, 8)
    add_chat_name(tree, tag)
    local noise = add(tree, f.noise, tvb, 13, 96)
    if noise then
        add(noise, f.ephemeral, tvb, 13, 32)
        add(noise, f.static, tvb, 45, 48)
        add(noise, f.noise_tag, tvb, 93, 16)
    end
    if with_cookie then add(tree, f.cookie, tvb, 109, 16) end
    add_generated(tree, f.session, found.handshake.number)
    if found.cookie_of then add_generated(tree, f.retry_frame, found.cookie_of) end
    if found.first ~= pinfo.number then add_generated(tree, f.repeat_of, found.first) end
    local response = found.handshake.responses[1]
    if response then add_generated(tree, f.response_frame, response) end
    return ("initiation from 0x%08x, %s%s"):format(index, chat_words(tag), with_cookie and ", with a cookie" or "")
end

draw[RESPONSE] = function(tvb, pinfo, tree)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination)
        return tracker:response(pinfo.number, tonumber(tostring(pinfo.abs_ts)), source, destination, index)
    end)
    add(tree, f.receiver_index, tvb, 1, 4)
    local noise = add(tree, f.noise, tvb, 5, 52)
    if noise then
        add(noise, f.ephemeral, tvb, 5, 32)
        add(noise, f.index, tvb, 37, 4)
        add(noise, f.noise_tag, tvb, 41, 16)
    end
    if found.handshake then
        add_generated(tree, f.session, found.handshake.number)
        add_chat(tree, found.handshake.tag)
        add_handshake(tree, found.handshake, pinfo.number)
    end
    return ("response → 0x%08x"):format(index)
end

draw[RETRY] = function(tvb, pinfo, tree)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination)
        return tracker:retry(pinfo.number, source, destination, index, tvb:raw(5))
    end)
    add(tree, f.receiver_index, tvb, 1, 4)
    add(tree, f.cookie, tvb, 5, 16)
    if found.handshake then
        add_generated(tree, f.session, found.handshake.number)
        add_chat(tree, found.handshake.tag)
        add_handshake(tree, found.handshake, pinfo.number)
    end
    return ("retry → 0x%08x"):format(index)
end

-- Adds what the capture tells of the session of a sealed datagram.
local function add_session(tree, found)
    local direction = found.direction
    if direction.number then add_generated(tree, f.session, direction.number) end
    local way = #direction.handshakes == 0 and 0 or direction.to_initiator and 2 or 1
    add_generated(tree, f.direction, way)
    for _, handshake in ipairs(direction.handshakes) do
        add_handshake(tree, handshake)
        add_chat(tree, handshake.tag)
    end
    if #direction.handshakes > 1 then tree:add_proto_expert_info(e.ambiguous) end
    if found.repeats then
        add_generated(tree, f.repeat_of, found.repeats)
        tree:add_proto_expert_info(e.again)
    elseif found.is_old then
        tree:add_proto_expert_info(e.old)
    end
end

draw[SEALED] = function(tvb, pinfo, tree)
    local index, counter = tvb(1, 4):uint(), tvb(5, 4):uint()
    local size = tvb:reported_len() - SEALED_HEADER_SIZE - AUTHENTICATION_TAG_SIZE
    local is_whole = tvb:len() == tvb:reported_len()
    local found = remembered(tvb, pinfo, function(source, destination)
        local found = tracker:sealed(tonumber(tostring(pinfo.abs_ts)), source, destination, index, counter)
        if is_whole then found.plaintext, found.has_key = keys:unseal(tvb:raw(), index, counter) end
        -- Without a key, each datagram is taken for an authentic one.
        if found.plaintext or not found.has_key then tracker:mark(pinfo.number, found.direction, counter) end
        return found
    end)
    add(tree, f.receiver_index, tvb, 1, 4)
    local counter_item = add(tree, f.counter, tvb, 5, 4)
    if counter == UNUSED_COUNTER then counter_item:add_proto_expert_info(e.counter) end
    if counter == LAST_WILL_COUNTER then counter_item:add_proto_expert_info(e.last_will) end
    add(tree, f.sealed, tvb, SEALED_HEADER_SIZE, size)
    add_generated(tree, f.size, size)
    add(tree, f.seal, tvb, SEALED_HEADER_SIZE + size, AUTHENTICATION_TAG_SIZE)
    add_session(tree, found)

    local name = counter == LAST_WILL_COUNTER and "last will" or ("#%.0f"):format(counter)
    local words = size == 1 and "1 byte of frames" or size .. " bytes of frames"
    if found.plaintext then
        words = frames.dissect(ByteArray.new(found.plaintext, true):tvb("Opened frames"), tree,
            counter == LAST_WILL_COUNTER)
    elseif found.has_key then
        tree:add_proto_expert_info(e.authentication)
        words = words .. ", no key fits"
    end
    if counter == UNUSED_COUNTER then words = words .. ", malformed: counter" end
    return ("sealed %s → 0x%08x, %s"):format(name, index, words)
end

local function is_zero(bytes) return not bytes:find("[^%z]") end

draw[ASK] = function(tvb, pinfo, tree)
    local tag, token = tvb(1, 8):raw(), tvb(9, 4):uint()
    local found = remembered(tvb, pinfo, function(source) return tracker:ask(pinfo.number, source, token, tag) end)
    add(tree, f.tag, tvb, 1, 8)
    add_chat_name(tree, tag)
    add(tree, f.token, tvb, 9, 4)
    local zero = add(tree, f.zero, tvb, 13, 32)
    if found.first ~= pinfo.number then add_generated(tree, f.repeat_of, found.first) end
    if found.ask.tells[1] then add_generated(tree, f.tell_frame, found.ask.tells[1]) end
    local words = ("ask, %s, token 0x%08x"):format(chat_words(tag), token)
    if not is_zero(tvb:raw(13)) then
        (zero or tree):add_proto_expert_info(e.padding)
        words = words .. ", malformed: padding"
    end
    return words
end

-- The user ID of a key (W-5).
local function user_id(key)
    local alphabet, digits = "abcdefghijklmnopqrstuvwxyz234567", {}
    local bits, value = 0, 0
    for _, byte in ipairs({ crypto.sha256(key):byte(1, 10) }) do
        bits, value = bits + 8, value * 256 + byte
        while bits >= 5 do
            bits = bits - 5
            local digit = math.floor(value / 2 ^ bits)
            value = value % 2 ^ bits
            digits[#digits + 1] = alphabet:sub(digit + 1, digit + 1)
        end
    end
    return table.concat(digits)
end

-- Whether W-3 allows a static key: not zero, and below 2^255 - 19 as a little-endian number.
local function is_valid_key(key)
    local first, between, last = key:byte(1), key:sub(2, 31), key:byte(32)
    return not is_zero(key) and (last < 0x7f or last == 0x7f and (first < 0xed or between:find("[^\255]") ~= nil))
end

draw[TELL] = function(tvb, pinfo, tree)
    local token = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(_, destination)
        return tracker:tell(pinfo.number, destination, token)
    end)
    add(tree, f.token, tvb, 1, 4)
    add(tree, f.nonce, tvb, 5, 8)
    local key = add(tree, f.key, tvb, 13, 32)
    if found.ask then
        add_generated(tree, f.ask_frame, found.ask.frame)
        add_chat(tree, found.ask.tag)
    end
    -- In a secret chat the nonce is random, and the key is masked with it.
    if key and is_zero(tvb:raw(5, 8)) then
        if is_valid_key(tvb:raw(13, 32)) then
            add_generated(key, f.user, user_id(tvb:raw(13, 32)))
        else
            key:add_proto_expert_info(e.key)
        end
    end
    return ("tell, token 0x%08x"):format(token)
end

-- Datagrams

local function kind_of(tvb)
    local first = tvb(0, 1):uint()
    return math.floor(first / 16), first % 16
end

local function has_valid_length(kind, length)
    if kind == SEALED then return length >= MINIMUM_SEALED_SIZE and length <= MAXIMUM_DATAGRAM_SIZE end
    for _, one in ipairs(LENGTHS[kind] or {}) do
        if length == one then return true end
    end
    return false
end

-- Draws a datagram of which at least its first byte was captured; gives the words for it.
local function draw_datagram(tvb, pinfo, tree)
    local version, kind = kind_of(tvb)
    add(tree, f.version, tvb, 0, 1)
    local kind_item
    local problem, words
    if version ~= VERSION then
        problem, words = e.version, ("malformed: version %d"):format(version)
    else
        kind_item = add(tree, f.kind, tvb, 0, 1)
        if not KINDS[kind] then
            problem, words = e.kind, ("malformed: kind %d"):format(kind)
        elseif not has_valid_length(kind, tvb:reported_len()) then
            problem, words = e.length, ("malformed: %s of length %d"):format(KINDS[kind], tvb:reported_len())
        end
    end
    if problem then
        (problem == e.kind and kind_item or tree):add_proto_expert_info(problem)
        if tvb:len() > 1 then tree:add(f.unparsed, tvb(1)) end
        return words
    end
    if tvb:len() < tvb:reported_len() then tree:add_proto_expert_info(e.cut) end
    if tvb:len() < HEADERS[kind] then return KINDS[kind] .. ", cut off by the capture" end
    return draw[kind](tvb, pinfo, tree)
end

-- Whether these bytes are only quoted by an ICMP error: they were shown when they were sent.
local function is_quoted() return icmp() ~= nil or icmpv6() ~= nil end

function inkling.dissector(tvb, pinfo, root)
    if tvb:len() == 0 or is_quoted() then return 0 end
    pinfo.cols.protocol = "Inkling"
    local tree = root:add(inkling, tvb())
    local words = draw_datagram(tvb, pinfo, tree)
    pinfo.cols.info = words
    tree:append_text(", " .. words)
    return tvb:reported_len()
end

-- Recognition

-- The records of DTLS begin with some of the same bytes.
local function is_dtls(tvb)
    return tvb:len() >= 13 and tvb(1, 1):uint() == 0xfe and tvb(2, 1):uint() >= 0xfc
        and tvb(11, 2):uint() <= tvb:reported_len() - 13
end

-- Whether a datagram has the form of one of Inkling's, and whether this is past doubt.
local function recognised(tvb)
    local version, kind = kind_of(tvb)
    if version ~= VERSION or not has_valid_length(kind, tvb:reported_len()) then return false end
    if tvb:len() < HEADERS[kind] or is_dtls(tvb) then return false end
    if kind == ASK then
        local zero = is_zero(tvb:raw(13))
        return zero, zero
    end
    if kind == SEALED then
        local index, counter = tvb(1, 4):uint(), tvb(5, 4):uint()
        if tracker:knows(index) or keys:has(index) then return true, true end
        return counter < USUAL_COUNTERS or counter == LAST_WILL_COUNTER, false
    end
    return true, kind == INITIATION
end

local function recognise(tvb, pinfo, root)
    if tvb:len() == 0 or is_quoted() then return false end
    local is_inkling, is_certain = recognised(tvb)
    if not is_inkling then return false end
    -- From here on the malformed datagrams of these two endpoints are shown too.
    if is_certain then pinfo.conversation = inkling end
    inkling.dissector(tvb, pinfo, root)
    return true
end

inkling:register_heuristic("udp", recognise)
udp_ports:add_for_decode_as(inkling)
apply_preferences()
