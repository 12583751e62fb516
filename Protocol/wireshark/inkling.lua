-- A Wireshark dissector for Inkling, written from wire.md and registry.md. README.md says how to use it.
-- This file has the datagrams and the instances of discovery; beside it lie the frames, the sessions, the keys and the
-- cryptography.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local key_files = dofile(here .. "inkling_keys.lua")(dofile(here .. "inkling_crypto.lua"))
local sessions = dofile(here .. "inkling_sessions.lua")

local inkling, discovery = Proto("inkling", "Inkling"), Proto("inkling_discovery", "Inkling discovery")
-- These must be made before any dissector is registered.
local icmp, icmpv6 = Field.new("icmp"), Field.new("icmpv6")
local question_names, record_names = Field.new("dns.qry.name"), Field.new("dns.resp.name")
local pointers, texts = Field.new("dns.ptr.domain_name"), Field.new("dns.txt")

local VERSION = 2
local INITIATION, RESPONSE, SEALED, RETRY, ASK, TELL = 1, 2, 3, 4, 5, 6
local KINDS = { "initiation", "response", "sealed", "retry", "ask", "tell" }
-- The lengths of each kind, and the bytes of its header: first byte, index, counter, check, token.
local LENGTHS = { { 121, 137 }, { 69, 69 }, { 27, 1200 }, { 21, 21 }, { 65, 65 }, { 65, 65 } }
local HEADERS = { 13, 5, 9, 5, 17, 17 }
local LAST_WILL_COUNTER, UNUSED_COUNTER = 0xffffffff, 0xfffffffe
-- Below this, a counter of an unknown index is taken for a counter.
local USUAL_COUNTERS = 0x1000000
local DIRECTIONS = { [0] = "not known", [1] = "from the initiator", [2] = "from the responder" }

local function bytes(name, label) return ProtoField.bytes("inkling." .. name, label) end
local function decimal(name, label) return ProtoField.uint32("inkling." .. name, label, base.DEC) end
local function hex(name, label) return ProtoField.uint32("inkling." .. name, label, base.HEX) end
local function text(name, label) return ProtoField.string("inkling." .. name, label) end
local function frame(name, label, kind)
    return ProtoField.framenum("inkling." .. name .. "_frame", label .. " in frame", base.NONE, kind)
end
local f = {
    version = ProtoField.uint8("inkling.version", "Version", base.DEC, nil, 0xf0),
    kind = ProtoField.uint8("inkling.kind", "Kind", base.DEC, KINDS, 0x0f),
    sender_index = hex("sender_index", "Sender index"), receiver_index = hex("receiver_index", "Receiver index"),
    check = bytes("check", "Check"), cookie = bytes("cookie", "Cookie"), noise = bytes("noise", "Noise message"),
    ephemeral = bytes("noise.ephemeral", "Ephemeral key"), static = bytes("noise.static", "Encrypted static key"),
    payload = bytes("noise.payload", "Encrypted payload"),
    counter = decimal("counter", "Counter"), sealed = bytes("frames.sealed", "Encrypted frames"),
    seal = bytes("authentication_tag", "Authentication tag"), size = decimal("frames.length", "Length of the frames"),
    token = bytes("token", "Token"), nonce = bytes("nonce", "Nonce"), zero = bytes("zero", "Zeros"),
    sealed_key = bytes("sealed_key", "Sealed static key"), unparsed = bytes("unparsed", "Not parsed"),
    chat = text("chat", "Chat"), key = bytes("key", "Static key"), user = text("user_id", "User ID"),
    sender = text("sender", "User ID of the sender"), index = hex("responder_index", "Responder's index"),
    run = bytes("run", "Run"), epoch = decimal("epoch", "Epoch"), session = decimal("session", "Session"),
    state = decimal("state", "State"), instance = text("instance", "Instance"),
    direction = ProtoField.uint8("inkling.direction", "Direction", base.DEC, DIRECTIONS),
    initiation_frame = frame("initiation", "Initiation", frametype.REQUEST),
    response_frame = frame("response", "Response", frametype.RESPONSE), retry_frame = frame("retry", "Retry"),
    ask_frame = frame("ask", "Ask", frametype.REQUEST), tell_frame = frame("tell", "Tell", frametype.RESPONSE),
    first_frame = frame("first", "First sent"),
}
-- The fields of each kind in their order, after the first byte, with their sizes. A field without a size takes the
-- rest but the tag. A third member has the fields within a field.
local LAYOUTS = {
    { { f.sender_index, 4 }, { f.check, 8 },
        { f.noise, 108, { { f.ephemeral, 32 }, { f.static, 48 }, { f.payload, 28 } } }, { f.cookie, 16 } },
    { { f.receiver_index, 4 }, { f.noise, 64, { { f.ephemeral, 32 }, { f.payload, 32 } } } },
    { { f.receiver_index, 4 }, { f.counter, 4 }, { f.sealed }, { f.seal, 16 } },
    { { f.receiver_index, 4 }, { f.cookie, 16 } },
    { { f.token, 8 }, { f.check, 8 }, { f.zero, 48 } },
    { { f.token, 8 }, { f.nonce, 8 }, { f.sealed_key, 48 } },
}

local function malformed(name, words, group)
    return ProtoExpert.new("inkling.error." .. name, words, group or expert.group.MALFORMED, expert.severity.ERROR)
end
local function noted(name, words)
    return ProtoExpert.new("inkling.note." .. name, words, expert.group.SEQUENCE, expert.severity.NOTE)
end
local frames = dofile(here .. "inkling_frames.lua")(malformed, noted)
local e = {
    version = malformed("version", "Not version 2: a node drops it (W-12)"),
    kind = malformed("kind", "An unassigned kind: a node drops it (W-12)"),
    length = malformed("length", "No datagram of this kind has this length: a node drops it (W-13)"),
    zeros = malformed("zeros", "The last 48 bytes of an ask are not all zero: a node drops it (W-14)"),
    counter = malformed("counter", "No datagram has the counter 2^32 - 2: a node drops it (W-20)"),
    key = malformed("key", "A static key that is not valid, or a result of zero: a node refuses it (W-3, W-4)"),
    authentication = malformed("authentication", "No key that is given for the index opens it", expert.group.UNDECODED),
    seal = malformed("seal", "The sealed key does not open: a node ignores it (W-37)", expert.group.UNDECODED),
    own_key = noted("own_key", "Both ends have the same static key: they share no link (D-7)"),
    last_will = noted("last_will", "The last will: another process says that its sender died (W-21)"),
    repeated = noted("repeated", "The counter occurred before: a node drops it (W-22)"),
    old = noted("old", "The counter lies 1,024 or more below the highest one: a node drops it (W-22)"),
    new_run = noted("new_run", "Another run than before: the sender has started again (L-58)"),
    new_epoch = noted("new_epoch", "A higher epoch than before: the sender forgot a link, and its state (L-60)"),
    old_epoch = noted("old_epoch", "A lower epoch than before: the datagram is old (L-63)"),
    ambiguous = noted("ambiguous", "Several handshakes were made at once: the session is that of one of them"),
    cut = noted("cut", "Not all of the datagram was captured"),
}

for name, field in pairs(frames.fields) do f["frames." .. name] = field end
for name, one in pairs(frames.experts) do e["frames." .. name] = one end
inkling.fields, inkling.experts = f, e

-- Preferences

inkling.prefs.ports = Pref.range("UDP ports", "", "All datagrams of these ports are taken for Inkling, malformed ones "
    .. "too, e.g. 40000-40010. Without a port, datagrams are recognised by their form.", 65535)
inkling.prefs.chats = Pref.string("Chats", "", "Names of open chats, and invites of secret ones, with commas between "
    .. "them. In a name, write %2C for a comma and %25 for %.")
inkling.prefs.key_file = Pref.string("Key file", "", "A file of keys of 64 hex digits, one a line. Before a transport "
    .. "key stands the receiver index that it is for, as 8 hex digits; before another, `private` or `public`.")

local udp_ports = DissectorTable.get("udp.port")
local ports, chats, keys = "", {}, key_files.open("")
-- `tracker` ties the datagrams of the capture together, `asks` has those by token and asker; `known` holds the
-- results of the first look at each datagram.
local tracker, known, asks

local function begin()
    tracker, known, asks, keys = sessions.new(), {}, {}, key_files.open(inkling.prefs.key_file)
end

local function apply_preferences()
    if inkling.prefs.ports ~= ports then
        if ports ~= "" then udp_ports:remove(ports, inkling) end
        ports = inkling.prefs.ports
        if ports ~= "" then udp_ports:add(ports, inkling) end
    end
    chats = key_files.chats_of(inkling.prefs.chats)
    begin()
end

inkling.init, inkling.prefs_changed = begin, apply_preferences

-- Calls `find` when a datagram is first seen, and returns its result then and later.
local function remembered(tvb, pinfo, find)
    local key = pinfo.number .. ":" .. tvb:raw(0, math.min(tvb:len(), 13))
    if known[key] == nil then
        local source = tostring(pinfo.src) .. " " .. pinfo.src_port
        local destination = tostring(pinfo.dst) .. " " .. pinfo.dst_port
        known[key] = find(source, destination, tonumber(tostring(pinfo.abs_ts)))
    end
    return known[key]
end

-- Drawing

local function is_whole(tvb) return tvb:len() == tvb:reported_len() end

-- Adds the fields of a layout whose bytes were captured; returns their items by field.
local function add_layout(tree, layout, tvb, offset, items)
    for _, part in ipairs(layout) do
        local field, size, inner = part[1], part[2] or tvb:reported_len() - offset - 16, part[3]
        if offset + size > tvb:len() then break end
        items[field] = tree:add(field, tvb(offset, size))
        add_layout(items[field], inner or {}, tvb, offset, items)
        offset = offset + size
    end
    return items
end

-- Adds a value that is not in the datagram itself: a number, a text, or a byte string for a field of bytes.
local function add(tree, field, value)
    local is_bytes = field == f.run or field == f.key or field == f.nonce
    return tree:add(field, is_bytes and ByteArray.new(value, true):tvb("Opened bytes")() or value):set_generated()
end

local function add_frame(tree, field, number, own_number)
    if number and number ~= own_number then add(tree, field, number) end
end

local function add_chat(tree, chat)
    if not chat then return end
    local item = add(tree, f.chat, chat.name)
    if chat.is_secret then item:append_text(" (secret)") end
end

local function chat_words(chat)
    return not chat and "a chat that is not known" or (chat.is_secret and "secret chat " or "chat ") .. chat.name
end

local function add_key(tree, key)
    local item = add(tree, f.key, key)
    add(item, f.user, key_files.user_id(key))
    if not key_files.is_valid_key(key) then item:add_proto_expert_info(e.key) end
end

-- Adds the run and epoch in a payload of a handshake (W-18); returns the words for them.
local function add_payload(item, opened)
    add(item, f.run, opened.run)
    local epoch = add(item, f.epoch, opened.epoch)
    if opened.has_zero then item:add_proto_expert_info(e.key) end
    if opened.change then epoch:add_proto_expert_info(e[opened.change]) end
    return (", epoch %.0f"):format(opened.epoch)
end

local function add_handshake(tree, handshake, own_number)
    if not handshake then return end
    add(tree, f.session, handshake.number)
    if handshake.state then add(tree, f.state, handshake.state) end
    add_frame(tree, f.initiation_frame, handshake.frame, own_number)
    add_frame(tree, f.response_frame, handshake.responses[1], own_number)
    add_chat(tree, handshake.chat)
end

-- Opens message 1 of a handshake, if that has not been done.
local function open_first(handshake)
    local message = handshake.bytes
    if not handshake.chat or handshake.first then return end
    local first = keys:open_first(handshake.chat, message:sub(2, 5), message:sub(14))
    handshake.first = first
    if not first then return end
    first.change = tracker:compare_epoch(first.chat, first.initiator, first.responder, first.run, first.epoch)
end

-- Returns the contents of message 2, or nil. The first valid response decides on the session.
local function open_second(handshake, datagram)
    open_first(handshake)
    local first, second = handshake.first, handshake.second
    if not first or second and second.datagram == datagram then return second end
    second = keys:open_second(first, datagram:sub(2, 5), datagram:sub(6))
    if not second or handshake.second or second.has_zero then return second end
    second.datagram, handshake.second = datagram, second
    second.change = tracker:compare_epoch(first.chat, first.responder, first.initiator, second.run, second.epoch)
    tracker:opened(handshake)
    return second
end

-- For each kind: adds the values that are not in the datagram itself, and returns the words for the column Info.
-- `items` has the items by field.
local draw = {}

draw[INITIATION] = function(tvb, pinfo, tree, items)
    local index, datagram = tvb(1, 4):uint(), tvb:raw()
    local handshake = remembered(tvb, pinfo, function(source, destination)
        local handshake, is_new = tracker:initiation(pinfo.number, source, destination, index, datagram)
        if is_new and is_whole(tvb) then
            local checked = datagram:sub(1, 5) .. datagram:sub(14, 121)
            handshake.chat = key_files.chat_by_check(chats, "initiation", checked, datagram:sub(6, 13))
            open_first(handshake)
        end
        return handshake
    end)
    local first, words = handshake.first, chat_words(handshake.chat)
    add_handshake(tree, handshake, handshake.frame)
    add_frame(tree, f.retry_frame, handshake.retries[datagram:sub(122)])
    add_frame(tree, f.first_frame, handshake.frame, pinfo.number)
    if first and items[f.payload] then
        add_key(items[f.static], first.initiator)
        words = words .. add_payload(items[f.payload], first)
        if first.initiator == first.responder then items[f.static]:add_proto_expert_info(e.own_key) end
    end
    return ("initiation from 0x%08x, %s"):format(index, words) .. (items[f.cookie] and ", with a cookie" or "")
end

draw[RESPONSE] = function(tvb, pinfo, tree, items)
    local index = tvb(1, 4):uint()
    local found = remembered(tvb, pinfo, function(source, destination, time)
        local handshake = tracker:response(pinfo.number, time, source, destination, index)
        return { handshake = handshake, second = handshake and is_whole(tvb) and open_second(handshake, tvb:raw()) }
    end)
    add_handshake(tree, found.handshake, pinfo.number)
    local words, second = ("response → 0x%08x"):format(index), found.second
    if not second then return words end
    add(items[f.payload], f.index, second.index)
    return words .. (", gives index 0x%08x"):format(second.index) .. add_payload(items[f.payload], second)
end

draw[RETRY] = function(tvb, pinfo, tree)
    local index = tvb(1, 4):uint()
    local handshake = remembered(tvb, pinfo, function(source, destination)
        local handshake = tracker:handshake_of(source, destination, index)
        if handshake then handshake.retries[tvb:raw(5)] = pinfo.number end
        return handshake or false
    end)
    add_handshake(tree, handshake)
    return ("retry → 0x%08x"):format(index)
end

-- Adds the session of a sealed datagram, as the capture shows it.
local function add_session(tree, found)
    local direction = found.direction
    local handshakes = direction.handshakes
    if #handshakes == 1 then
        add_handshake(tree, handshakes[1])
        local first = handshakes[1].second and handshakes[1].first
        if first then
            add(tree, f.sender, key_files.user_id(direction.to_initiator and first.responder or first.initiator))
        end
    elseif direction.number then
        add(tree, f.session, direction.number)
    else
        for _, handshake in ipairs(handshakes) do add_frame(tree, f.initiation_frame, handshake.frame) end
        tree:add_proto_expert_info(e.ambiguous)
    end
    add(tree, f.direction, #handshakes == 0 and 0 or direction.to_initiator and 2 or 1)
    add_frame(tree, f.first_frame, found.repeats)
    if found.repeats or found.is_old then tree:add_proto_expert_info(found.repeats and e.repeated or e.old) end
end

draw[SEALED] = function(tvb, pinfo, tree, items)
    local index, counter = tvb(1, 4):uint(), tvb(5, 4):uint()
    local size, is_last_will = tvb:reported_len() - 25, counter == LAST_WILL_COUNTER
    local found = remembered(tvb, pinfo, function(source, destination, time)
        local found = tracker:sealed(time, source, destination, index, counter)
        if is_whole(tvb) then found.plaintext, found.has_key = keys:unseal(tvb:raw(), index, counter) end
        -- Without a key, each datagram is taken for an authentic one.
        if found.plaintext or not found.has_key then tracker:mark(pinfo.number, found.marks, counter) end
        return found
    end)
    if is_last_will then items[f.counter]:add_proto_expert_info(e.last_will) end
    if counter == UNUSED_COUNTER then items[f.counter]:add_proto_expert_info(e.counter) end
    add(tree, f.size, size)
    add_session(tree, found)
    local words = size == 1 and "1 byte of frames" or size .. " bytes of frames"
    if found.plaintext then
        words = frames.dissect(ByteArray.new(found.plaintext, true):tvb("Opened frames"), tree, is_last_will)
    elseif found.has_key then
        tree:add_proto_expert_info(e.authentication)
        words = words .. ", no key fits"
    end
    if counter == UNUSED_COUNTER then words = words .. ", malformed: counter" end
    return ("sealed %s → 0x%08x, %s"):format(is_last_will and "last will" or ("#%.0f"):format(counter), index, words)
end

local function is_zero(data) return not data:find("[^%z]") end

draw[ASK] = function(tvb, pinfo, tree, items)
    local token, check = tvb:raw(1, 8), tvb:raw(9, 8)
    local ask = remembered(tvb, pinfo, function(source)
        local ask = asks[token .. source]
        if ask and ask.check == check then return ask end
        local chat = key_files.chat_by_check(chats, "ask", token, check)
        asks[token .. source] = { check = check, frame = pinfo.number, tells = {}, chat = chat }
        return asks[token .. source]
    end)
    add_chat(tree, ask.chat)
    add_frame(tree, f.first_frame, ask.frame, pinfo.number)
    add_frame(tree, f.tell_frame, ask.tells[1])
    if is_zero(tvb:raw(17)) then return "ask, " .. chat_words(ask.chat) end
    (items[f.zero] or tree):add_proto_expert_info(e.zeros)
    return "ask, malformed: zeros"
end

draw[TELL] = function(tvb, pinfo, tree, items)
    local token = tvb:raw(1, 8)
    local found = remembered(tvb, pinfo, function(_, destination)
        local ask = asks[token .. destination]
        local found = { ask = ask, chat = ask and ask.chat }
        if ask then table.insert(ask.tells, pinfo.number) end
        for _, chat in ipairs(not is_whole(tvb) and {} or found.chat and { found.chat } or chats) do
            local key = key_files.open_static(chat, tvb:raw(17), tvb:raw(9, 8), token)
            if key then
                found.key, found.chat = key, chat
                keys:add_public(key)
            end
        end
        return found
    end)
    add_frame(tree, f.ask_frame, found.ask and found.ask.frame)
    add_chat(tree, found.chat)
    local item, words = items[f.sealed_key], "tell, " .. chat_words(found.chat)
    if found.chat and item and not found.key then item:add_proto_expert_info(e.seal) end
    if not found.key then return words end
    add_key(item, found.key)
    return words .. ", key of " .. key_files.user_id(found.key)
end

-- Datagrams

-- The version and kind of a datagram, and whether it has the length of such a kind.
local function form_of(tvb)
    local first, length = tvb(0, 1):uint(), tvb:reported_len()
    local version, kind = math.floor(first / 16), first % 16
    local lengths = version == VERSION and LENGTHS[kind]
    local is_between = kind == SEALED and lengths and length >= lengths[1] and length <= lengths[2]
    return version, kind, is_between or lengths and (length == lengths[1] or length == lengths[2])
end

-- Draws a datagram of which at least its first byte was captured; returns the words for the column Info.
local function draw_datagram(tvb, pinfo, tree)
    local version, kind, has_form = form_of(tvb)
    local item = tree:add(f.version, tvb(0, 1))
    if version == VERSION then item = tree:add(f.kind, tvb(0, 1)) end
    if not has_form then
        item:add_proto_expert_info(version ~= VERSION and e.version or not KINDS[kind] and e.kind or e.length)
        if tvb:len() > 1 then tree:add(f.unparsed, tvb(1)) end
        return version ~= VERSION and "malformed: version " .. version or not KINDS[kind] and "malformed: kind " .. kind
            or ("malformed: %s of length %d"):format(KINDS[kind], tvb:reported_len())
    end
    local items = add_layout(tree, LAYOUTS[kind], tvb, 1, {})
    if not is_whole(tvb) then tree:add_proto_expert_info(e.cut) end
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

-- Whether a datagram has the form of one of Inkling's, and whether this is past doubt.
local function recognised(tvb)
    local _, kind, has_form = form_of(tvb)
    if not has_form or tvb:len() < HEADERS[kind] then return false end
    if kind == ASK then return is_zero(tvb:raw(17)), true end
    if kind ~= SEALED then return true, kind == INITIATION end
    local index, counter = tvb(1, 4):uint(), tvb(5, 4):uint()
    local is_known = tracker.directions[index] or keys.transport[index]
    return is_known or counter < USUAL_COUNTERS or counter == LAST_WILL_COUNTER, is_known
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

-- Discovery: the instances of the given chats in a packet of multicast DNS, with the keys of their TXT records.

local function find_instances()
    local found, by_name = {}, {}
    for _, field in ipairs({ question_names, pointers, record_names }) do
        for _, one in ipairs({ field() }) do
            local name = tostring(one.value)
            local is_service = not by_name[name] and name:lower():find("%._inkling%._udp%.")
            local nonce, chat = nil, nil
            if is_service then nonce, chat = key_files.read_instance_name(chats, name) end
            if chat then
                by_name[name] = { name = name, nonce = nonce, chat = chat }
                table.insert(found, by_name[name])
            end
        end
    end
    for _, one in ipairs({ texts() }) do
        -- A text belongs to the last record before it.
        local instance
        for _, name in ipairs({ record_names() }) do
            if name.offset < one.offset then instance = by_name[tostring(name.value)] end
        end
        local value = tostring(one.value):match("^[kK]=(.*)$") or tostring(one.value):match("^[kK]$")
        if instance and value and instance.key == nil then
            local sealed = key_files.decode_base64(value, 64)
            instance.key = sealed and key_files.open_static(instance.chat, sealed, instance.nonce) or false
            if instance.key then keys:add_public(instance.key) end
        end
    end
    return found
end

function discovery.dissector(_, pinfo, root)
    local key = pinfo.number .. ":discovery"
    if not known[key] or #known[key] == 0 then known[key] = find_instances() end
    for _, instance in ipairs(known[key]) do
        local tree = root:add(discovery)
        tree:append_text(", instance of " .. chat_words(instance.chat))
        add(tree, f.instance, instance.name)
        add(tree, f.nonce, instance.nonce)
        add_chat(tree, instance.chat)
        if instance.key then add_key(tree, instance.key) end
        if instance.key == false then tree:add_proto_expert_info(e.seal) end
    end
end

inkling:register_heuristic("udp", recognise)
udp_ports:add_for_decode_as(inkling)
register_postdissector(discovery)
apply_preferences()
