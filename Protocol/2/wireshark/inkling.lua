-- A Wireshark dissector for Inkling, written from wire.md and registry.md. README.md says how to use it.
-- This file has the datagrams and the instances of discovery; beside it lie the frames, the sessions, the keys and the
-- cryptography.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local keys_file = dofile(here .. "inkling_keys.lua")(dofile(here .. "inkling_crypto.lua"))
local sessions = dofile(here .. "inkling_sessions.lua")

local inkling = Proto("inkling", "Inkling")
local discovery = Proto("inkling_discovery", "Inkling discovery")
-- These must be made before any dissector is registered.
local icmp, icmpv6 = Field.new("icmp"), Field.new("icmpv6")
local question_names, record_names = Field.new("dns.qry.name"), Field.new("dns.resp.name")
local pointers, texts = Field.new("dns.ptr.domain_name"), Field.new("dns.txt")

local VERSION = 2
local INITIATION, RESPONSE, SEALED, RETRY, ASK, TELL = 1, 2, 3, 4, 5, 6
local KINDS = {
    [INITIATION] = "initiation", [RESPONSE] = "response", [SEALED] = "sealed", [RETRY] = "retry", [ASK] = "ask",
    [TELL] = "tell",
}
-- The lengths of each kind, and what of it an index, counter, check or token takes.
local LENGTHS = {
    [INITIATION] = { 121, 137 }, [RESPONSE] = { 69 }, [RETRY] = { 21 }, [ASK] = { 65 }, [TELL] = { 65 },
}
local HEADERS = { [INITIATION] = 13, [RESPONSE] = 5, [SEALED] = 9, [RETRY] = 5, [ASK] = 17, [TELL] = 17 }
local MINIMUM_SEALED_SIZE, MAXIMUM_DATAGRAM_SIZE = 27, 1200
local SEALED_HEADER_SIZE, TAG_SIZE, SEALED_KEY_TEXT_SIZE = 9, 16, 64
local LAST_WILL_COUNTER, UNUSED_COUNTER, LAST_COUNTER = 0xffffffff, 0xfffffffe, 0xfffffffd
-- Below this, a counter of an unknown index is taken for a counter.
local USUAL_COUNTERS = 0x1000000
local DIRECTIONS = { [0] = "not known", [1] = "from the initiator", [2] = "from the responder" }

local f = {
    version = ProtoField.uint8("inkling.version", "Version", base.DEC, nil, 0xf0),
    kind = ProtoField.uint8("inkling.kind", "Kind", base.DEC, KINDS, 0x0f),
    sender_index = ProtoField.uint32("inkling.sender_index", "Sender index", base.HEX),
    receiver_index = ProtoField.uint32("inkling.receiver_index", "Receiver index", base.HEX),
    check = ProtoField.bytes("inkling.check", "Check"),
    noise = ProtoField.bytes("inkling.noise", "Noise message"),
    ephemeral = ProtoField.bytes("inkling.noise.ephemeral", "Ephemeral key"),
    static = ProtoField.bytes("inkling.noise.static", "Encrypted static key"),
    payload = ProtoField.bytes("inkling.noise.payload", "Encrypted payload"),
    cookie = ProtoField.bytes("inkling.cookie", "Cookie"),
    counter = ProtoField.uint32("inkling.counter", "Counter", base.DEC),
    sealed = ProtoField.bytes("inkling.frames.sealed", "Encrypted frames"),
    size = ProtoField.uint16("inkling.frames.length", "Length of the frames", base.DEC),
    seal = ProtoField.bytes("inkling.authentication_tag", "Authentication tag"),
    token = ProtoField.bytes("inkling.token", "Token"),
    zero = ProtoField.bytes("inkling.zero", "Zeros"),
    nonce = ProtoField.bytes("inkling.nonce", "Nonce"),
    sealed_key = ProtoField.bytes("inkling.sealed_key", "Sealed static key"),
    unparsed = ProtoField.bytes("inkling.unparsed", "Not parsed"),
    chat = ProtoField.string("inkling.chat", "Chat"),
    key = ProtoField.bytes("inkling.key", "Static key"),
    user = ProtoField.string("inkling.user_id", "User ID"),
    index = ProtoField.uint32("inkling.responder_index", "Responder's index", base.HEX),
    run = ProtoField.bytes("inkling.run", "Run"),
    epoch = ProtoField.uint32("inkling.epoch", "Epoch", base.DEC),
    session = ProtoField.uint32("inkling.session", "Session", base.DEC),
    state = ProtoField.uint32("inkling.state", "State", base.DEC),
    direction = ProtoField.uint8("inkling.direction", "Direction", base.DEC, DIRECTIONS),
    initiation_frame = ProtoField.framenum("inkling.initiation_frame", "Initiation in frame", base.NONE,
        frametype.REQUEST),
    response_frame = ProtoField.framenum("inkling.response_frame", "Response in frame", base.NONE, frametype.RESPONSE),
    retry_frame = ProtoField.framenum("inkling.retry_frame", "Retry in frame", base.NONE),
    ask_frame = ProtoField.framenum("inkling.ask_frame", "Ask in frame", base.NONE, frametype.REQUEST),
    tell_frame = ProtoField.framenum("inkling.tell_frame", "Tell in frame", base.NONE, frametype.RESPONSE),
    repeat_of = ProtoField.framenum("inkling.repeat_of", "First sent in frame", base.NONE),
    instance = ProtoField.string("inkling.instance", "Instance"),
}

-- The fields of each kind in their order, after the first byte: a size below 1 is counted from the end. The fields of
-- a fourth member lie within the field before them.
local NOISE_1 = { { f.ephemeral, 32 }, { f.static, 48 }, { f.payload, 28 } }
local NOISE_2 = { { f.ephemeral, 32 }, { f.payload, 32 } }
local LAYOUTS = {
    [INITIATION] = { { f.sender_index, 4 }, { f.check, 8 }, { f.noise, 108, NOISE_1 }, { f.cookie, 16 } },
    [RESPONSE] = { { f.receiver_index, 4 }, { f.noise, 64, NOISE_2 } },
    [SEALED] = { { f.receiver_index, 4 }, { f.counter, 4 }, { f.sealed, -TAG_SIZE }, { f.seal, TAG_SIZE } },
    [RETRY] = { { f.receiver_index, 4 }, { f.cookie, 16 } },
    [ASK] = { { f.token, 8 }, { f.check, 8 }, { f.zero, 48 } },
    [TELL] = { { f.token, 8 }, { f.nonce, 8 }, { f.sealed_key, 48 } },
}

local function malformed(name, text)
    return ProtoExpert.new("inkling.error." .. name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local function noted(name, text, group)
    return ProtoExpert.new("inkling.note." .. name, text, group or expert.group.SEQUENCE, expert.severity.NOTE)
end
local frames = dofile(here .. "inkling_frames.lua")(malformed, noted)
local e = {
    version = malformed("version", "Not version 2: a node drops it (W-12)"),
    kind = malformed("kind", "An unassigned kind: a node drops it (W-12)"),
    length = malformed("length", "No datagram of this kind has this length: a node drops it (W-13)"),
    zeros = malformed("zeros", "The last 48 bytes of an ask are not all zero: a node drops it (W-14)"),
    counter = malformed("counter", "No datagram has the counter 2^32 - 2: a node drops it (W-20)"),
    key = malformed("key", "Not a valid static key, or a zero result of X25519: a node refuses it (W-3, W-4)"),
    authentication = ProtoExpert.new("inkling.error.authentication", "No key that is given for the index opens it",
        expert.group.UNDECODED, expert.severity.WARN),
    seal = ProtoExpert.new("inkling.error.seal", "The sealed key does not open: a node ignores it (W-37)",
        expert.group.UNDECODED, expert.severity.WARN),
    own_key = noted("own_key", "Both ends have the same static key: they share no link (D-7)"),
    last_will = noted("last_will", "The last will: another process says that its sender died (W-21)"),
    last_counter = noted("last_counter", "The last ordinary counter: its sender forgets the link (L-79)"),
    repeated = noted("repeated", "The counter occurred before: a node drops it (W-22)"),
    old = noted("old", "The counter lies 1,024 or more below the highest one: a node drops it (W-22)"),
    new_run = noted("new_run", "Another run than before: the sender has started again (L-58)"),
    new_epoch = noted("new_epoch", "A higher epoch than before: the sender forgot a link, and its state (L-60)"),
    old_epoch = noted("old_epoch", "A lower epoch than before: the datagram is old (L-63)"),
    ambiguous = noted("ambiguous", "Several handshakes were made at once: the session is that of one of them"),
    cut = noted("cut", "Not all of the datagram was captured", expert.group.UNDECODED),
}

local function values(...)
    local list = {}
    for _, part in ipairs({ ... }) do
        for _, one in pairs(part) do list[#list + 1] = one end
    end
    return list
end
inkling.fields, inkling.experts = values(f, frames.fields), values(e, frames.experts)

-- Preferences

inkling.prefs.ports = Pref.range("UDP ports", "", "All datagrams of these ports are taken for Inkling, malformed ones "
    .. "too, e.g. 40000-40010. Without a port, datagrams are recognised by their form.", 65535)
inkling.prefs.chats = Pref.string("Chats", "", "Names of open chats, and invites of secret ones, with commas between "
    .. "them. In a name, write %2C for a comma and %25 for %.")
inkling.prefs.key_file = Pref.string("Key file", "", "A file of keys. Each line has a receiver index (8 hex digits) "
    .. "and the transport key (64 hex digits) of what is sent to it; or `private` and an X25519 private key; or "
    .. "`public` and a static public key.")

local udp_ports = DissectorTable.get("udp.port")
local ports, chats, keys = "", {}, keys_file.open("")
-- `tracker` ties the datagrams of the capture together; `known` holds what was found when one was first seen.
local tracker, known

local function begin()
    tracker, known = sessions.new(), {}
    keys:close()
    keys = keys_file.open(inkling.prefs.key_file)
end

local function apply_preferences()
    if inkling.prefs.ports ~= ports then
        if ports ~= "" then udp_ports:remove(ports, inkling) end
        ports = inkling.prefs.ports
        if ports ~= "" then udp_ports:add(ports, inkling) end
    end
    chats = keys_file.chats_of(inkling.prefs.chats)
    begin()
end

inkling.init, inkling.prefs_changed = begin, apply_preferences

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

-- Adds the fields of a layout whose bytes were captured; gives their items by field.
local function add_layout(tree, layout, tvb, offset, items)
    for _, part in ipairs(layout) do
        local field, size, inner = part[1], part[2], part[3]
        if size < 1 then size = tvb:reported_len() - offset + size end
        if offset + size > tvb:len() then break end
        items[field] = tree:add(field, tvb(offset, size))
        if inner then add_layout(items[field], inner, tvb, offset, items) end
        offset = offset + size
    end
    return items
end

local function add_generated(tree, field, value) return tree:add(field, value):set_generated() end

local function add_frame(tree, field, frame, own_frame)
    if frame and frame ~= own_frame then add_generated(tree, field, frame) end
end

local function add_chat(tree, chat)
    if not chat then return end
    local item = add_generated(tree, f.chat, chat.name)
    if chat.is_secret then item:append_text(" (secret)") end
end

local function add_key(tree, key)
    local item = add_generated(tree, f.key, ByteArray.new(key, true):tvb("Static key")())
    add_generated(item, f.user, keys_file.user_id(key))
    if not keys_file.is_valid_key(key) then item:add_proto_expert_info(e.key) end
end

local function chat_words(chat)
    return not chat and "a chat that is not known" or (chat.is_secret and "secret chat " or "chat ") .. chat.name
end

-- Adds the sender's run and epoch from the payload of a handshake (W-18).
local function add_payload(item, opened)
    add_generated(item, f.run, ByteArray.new(opened.run, true):tvb("Run")())
    local epoch = add_generated(item, f.epoch, opened.epoch)
    if opened.has_zero then item:add_proto_expert_info(e.key) end
    if opened.change then epoch:add_proto_expert_info(e[opened.change]) end
    return (", epoch %.0f"):format(opened.epoch)
end

local function add_handshake(tree, handshake, own_frame)
    if not handshake then return end
    add_generated(tree, f.session, handshake.number)
    if handshake.state then add_generated(tree, f.state, handshake.state) end
    add_frame(tree, f.initiation_frame, handshake.initiations[1], own_frame)
    add_frame(tree, f.response_frame, handshake.responses[1], own_frame)
    add_chat(tree, handshake.chat)
end

-- For each kind: adds what is not in the datagram itself, and gives the words for it. `items` has the items by field.
local draw = {}

-- Opens message 1 of a handshake, if that has not been done.
local function open_first(handshake, chat)
    if handshake.first or not chat then return end
    local first = keys:open_first(chat, handshake.bytes:sub(2, 5), handshake.bytes:sub(14))
    handshake.first = first
    if first then
        first.change = tracker:compare_epoch(chat, first.initiator, first.responder, first.run, first.epoch)
    end
end

draw[INITIATION] = function(tvb, pinfo, tree, items)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination)
        local found = tracker:initiation(pinfo.number, source, destination, index, tvb:raw())
        local handshake = found.handshake
        if found.is_first and tvb:len() == tvb:reported_len() then
            local bytes = handshake.bytes
            handshake.chat = keys_file.chat_by_check(chats, "initiation_key", bytes:sub(1, 5) .. bytes:sub(14),
                bytes:sub(6, 13))
            open_first(handshake, handshake.chat)
        end
        return found
    end)
    local handshake, words = found.handshake, ""
    add_handshake(tree, handshake, found.first ~= pinfo.number and found.first or pinfo.number)
    add_frame(tree, f.retry_frame, found.cookie_of)
    add_frame(tree, f.repeat_of, found.first, pinfo.number)
    local first = handshake.first
    if first and items[f.payload] then
        add_key(items[f.static], first.initiator)
        words = add_payload(items[f.payload], first)
        if first.initiator == first.responder then items[f.static]:add_proto_expert_info(e.own_key) end
    end
    return ("initiation from 0x%08x, %s%s%s"):format(index, chat_words(handshake.chat), words,
        items[f.cookie] and ", with a cookie" or "")
end

draw[RESPONSE] = function(tvb, pinfo, tree, items)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination)
        local found = tracker:response(pinfo.number, tonumber(tostring(pinfo.abs_ts)), source, destination, index)
        local handshake = found.handshake
        if not handshake or handshake.second or tvb:len() < tvb:reported_len() then return found end
        open_first(handshake, handshake.chat)
        local first = handshake.first
        local second = first and keys:open_second(first, index, tvb:raw(5))
        if second then
            second.bytes, handshake.second = tvb:raw(), second
            second.change = tracker:compare_epoch(first.chat, first.responder, first.initiator, second.run,
                second.epoch)
            tracker:opened(handshake)
        end
        return found
    end)
    add_handshake(tree, found.handshake, pinfo.number)
    local second, words = found.handshake and found.handshake.second, ""
    if second and items[f.payload] and second.bytes == tvb:raw() then
        add_generated(items[f.payload], f.index, second.index)
        words = (", gives index 0x%08x"):format(second.index) .. add_payload(items[f.payload], second)
    end
    return ("response → 0x%08x"):format(index) .. words
end

draw[RETRY] = function(tvb, pinfo, tree)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination)
        return tracker:retry(pinfo.number, source, destination, index, tvb:raw(5))
    end)
    add_handshake(tree, found.handshake)
    return ("retry → 0x%08x"):format(index)
end

-- Adds what the capture tells of the session of a sealed datagram.
local function add_session(tree, found)
    local direction = found.direction
    local way = #direction.handshakes == 0 and 0 or direction.to_initiator and 2 or 1
    if #direction.handshakes == 1 then
        local handshake = direction.handshakes[1]
        add_handshake(tree, handshake)
        if handshake.second then
            local sender = direction.to_initiator and handshake.first.responder or handshake.first.initiator
            add_generated(tree, f.user, keys_file.user_id(sender)):prepend_text("Sender's ")
        end
    elseif direction.number then
        add_generated(tree, f.session, direction.number)
    else
        for _, handshake in ipairs(direction.handshakes) do
            add_frame(tree, f.initiation_frame, handshake.initiations[1])
        end
        tree:add_proto_expert_info(e.ambiguous)
    end
    add_generated(tree, f.direction, way)
    add_frame(tree, f.repeat_of, found.repeats)
    if found.repeats or found.is_old then tree:add_proto_expert_info(found.repeats and e.repeated or e.old) end
end

draw[SEALED] = function(tvb, pinfo, tree, items)
    local index, counter = tvb(1, 4):uint(), tvb(5, 4):uint()
    local size = tvb:reported_len() - SEALED_HEADER_SIZE - TAG_SIZE
    local found = remembered(tvb, pinfo, function(source, destination)
        local found = tracker:sealed(tonumber(tostring(pinfo.abs_ts)), source, destination, index, counter)
        if tvb:len() == tvb:reported_len() then
            found.plaintext, found.has_key = keys:unseal(tvb:raw(), index, counter)
        end
        -- Without a key, each datagram is taken for an authentic one.
        if found.plaintext or not found.has_key then tracker:mark(pinfo.number, found.direction, counter) end
        return found
    end)
    local counter_note = ({
        [LAST_WILL_COUNTER] = e.last_will, [UNUSED_COUNTER] = e.counter, [LAST_COUNTER] = e.last_counter,
    })[counter]
    if counter_note then items[f.counter]:add_proto_expert_info(counter_note) end
    add_generated(tree, f.size, size)
    add_session(tree, found)
    local words = size == 1 and "1 byte of frames" or size .. " bytes of frames"
    if found.plaintext then
        words = frames.dissect(ByteArray.new(found.plaintext, true):tvb("Opened frames"), tree,
            counter == LAST_WILL_COUNTER)
    elseif found.has_key then
        tree:add_proto_expert_info(e.authentication)
        words = words .. ", no key fits"
    end
    if counter == UNUSED_COUNTER then words = words .. ", malformed: counter" end
    local name = counter == LAST_WILL_COUNTER and "last will" or ("#%.0f"):format(counter)
    return ("sealed %s → 0x%08x, %s"):format(name, index, words)
end

local function is_zero(bytes) return not bytes:find("[^%z]") end

draw[ASK] = function(tvb, pinfo, tree, items)
    local token, check = tvb:raw(1, 8), tvb:raw(9, 8)
    local found = remembered(tvb, pinfo, function(source)
        local found = tracker:ask(pinfo.number, source, token, check)
        if found.is_first then found.ask.chat = keys_file.chat_by_check(chats, "ask_key", token, check) end
        return found
    end)
    add_chat(tree, found.ask.chat)
    add_frame(tree, f.repeat_of, found.first, pinfo.number)
    add_frame(tree, f.tell_frame, found.ask.tells[1])
    local words = "ask, " .. chat_words(found.ask.chat)
    if is_zero(tvb:raw(17)) then return words end
    (items[f.zero] or tree):add_proto_expert_info(e.zeros)
    return words .. ", malformed: zeros"
end

draw[TELL] = function(tvb, pinfo, tree, items)
    local token = tvb:raw(1, 8)
    local found = remembered(tvb, pinfo, function(_, destination)
        local found = tracker:tell(pinfo.number, destination, token)
        local asked = found.ask and found.ask.chat
        for _, chat in ipairs(tvb:len() == tvb:reported_len() and (asked and { asked } or chats) or {}) do
            found.key = chat:open_static(tvb:raw(17), tvb:raw(9, 8), token)
            found.chat = chat
            if found.key then break end
        end
        if found.key then keys:add_public(found.key) end
        found.is_wrong = asked and found.chat and not found.key
        return found
    end)
    add_frame(tree, f.ask_frame, found.ask and found.ask.frame)
    if found.is_wrong then items[f.sealed_key]:add_proto_expert_info(e.seal) end
    local chat = (found.key or found.is_wrong) and found.chat
    add_chat(tree, chat)
    if found.key then add_key(items[f.sealed_key], found.key) end
    return "tell, " .. chat_words(chat) .. (found.key and ", key of " .. keys_file.user_id(found.key) or "")
end

-- Datagrams

local function kind_of(tvb)
    local first = tvb(0, 1):uint()
    return math.floor(first / 16), first % 16
end

local function has_valid_length(kind, length)
    if kind == SEALED then return length >= MINIMUM_SEALED_SIZE and length <= MAXIMUM_DATAGRAM_SIZE end
    local lengths = LENGTHS[kind] or {}
    return length == lengths[1] or length == lengths[2]
end

-- Draws a datagram of which at least its first byte was captured; gives the words for it.
local function draw_datagram(tvb, pinfo, tree)
    local version, kind = kind_of(tvb)
    local item = tree:add(f.version, tvb(0, 1))
    local problem, words
    if version ~= VERSION then
        problem, words = e.version, ("malformed: version %d"):format(version)
    else
        item = tree:add(f.kind, tvb(0, 1))
        if not KINDS[kind] then
            problem, words = e.kind, ("malformed: kind %d"):format(kind)
        elseif not has_valid_length(kind, tvb:reported_len()) then
            problem, words = e.length, ("malformed: %s of length %d"):format(KINDS[kind], tvb:reported_len())
        end
    end
    if problem then
        item:add_proto_expert_info(problem)
        if tvb:len() > 1 then tree:add(f.unparsed, tvb(1)) end
        return words
    end
    local items = add_layout(tree, LAYOUTS[kind], tvb, 1, {})
    if tvb:len() < tvb:reported_len() then tree:add_proto_expert_info(e.cut) end
    if tvb:len() < HEADERS[kind] then return KINDS[kind] .. ", cut off by the capture" end
    return draw[kind](tvb, pinfo, tree, items)
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

-- Whether a datagram has the form of one of Inkling's, and whether this is past doubt.
local function recognised(tvb)
    local version, kind = kind_of(tvb)
    if version ~= VERSION or not has_valid_length(kind, tvb:reported_len()) then return false end
    if tvb:len() < HEADERS[kind] then return false end
    if kind == ASK then
        local zero = is_zero(tvb:raw(17))
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

-- Discovery: adds to a packet of multicast DNS which of its instances are those of the given chats.

local function find_instances()
    local found, seen = {}, {}
    local function add(name)
        if not name:lower():find("%._inkling%._udp%.") then return end
        local nonce, chat = keys_file.read_instance_name(chats, name)
        local instance = { name = name, nonce = nonce, chat = chat }
        if chat and not seen[name] then table.insert(found, instance) end
        seen[name] = seen[name] or chat and instance
        return seen[name]
    end
    for _, field in ipairs({ question_names, pointers, record_names }) do
        for _, one in ipairs({ field() }) do add(tostring(one.value)) end
    end
    for _, text in ipairs({ texts() }) do
        -- The TXT record of the name that came last before the text.
        local owner
        for _, one in ipairs({ record_names() }) do
            if one.offset < text.offset then owner = tostring(one.value) end
        end
        local key, value = tostring(text.value):match("^([kK])=(.*)$")
        local instance = key and owner and add(owner)
        if instance and instance.key == nil then
            local sealed = keys_file.decode_base64(value, SEALED_KEY_TEXT_SIZE)
            instance.key = sealed and instance.chat:open_static(sealed, instance.nonce) or false
            if instance.key then keys:add_public(instance.key) end
        end
    end
    return found
end

function discovery.dissector(_, pinfo, root)
    if #chats == 0 or not (record_names() or question_names()) then return end
    local key = pinfo.number .. ":discovery"
    known[key] = known[key] or find_instances()
    for _, instance in ipairs(known[key]) do
        local tree = root:add(discovery)
        tree:append_text(", instance of " .. chat_words(instance.chat))
        add_generated(tree, f.instance, instance.name)
        add_generated(tree, f.nonce, ByteArray.new(instance.nonce, true):tvb("Nonce")())
        add_chat(tree, instance.chat)
        if instance.key then add_key(tree, instance.key) end
        if instance.key == false then tree:add_proto_expert_info(e.seal) end
    end
end

inkling:register_heuristic("udp", recognise)
udp_ports:add_for_decode_as(inkling)
register_postdissector(discovery)
apply_preferences()
