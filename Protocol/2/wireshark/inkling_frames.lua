-- Shows the frames of a sealed datagram that has been opened. See "Frames" in wire.md and registry.md.
-- The file gives a function of the makers of errors and notes, which inkling.lua calls once: Wireshark may load the
-- file by itself too.

local TYPES = {
    [0x01] = "heartbeat", [0x02] = "typing", [0x04] = "record", [0x05] = "ack", [0x06] = "ping", [0x07] = "pong",
    [0x08] = "bye", [0x09] = "forward",
}
-- The bytes that a frame of each type has; a record has at least these.
local SIZES = {
    [0x01] = 3, [0x02] = 2, [0x04] = 6, [0x05] = 7, [0x06] = 3, [0x07] = 3, [0x08] = 2, [0x09] = 5,
}
local RECORD, BYE, FIRST_SKIPPED_TYPE, FIRST_EXPERIMENTAL_TYPE = 0x04, 0x08, 0x40, 0xf0
local GREASING_TYPES = { [0x5a] = true, [0x9a] = true, [0xda] = true }
local REASONS = { [0] = "quit", [1] = "left", [2] = "suspended", [3] = "last will" }
local RECORD_TYPES = {
    [0] = "text", [1] = "name", [2] = "invite", [3] = "successor", [14] = "greasing", [15] = "experimental",
}
local TEXT, NAME, INVITE, SUCCESSOR = 0, 1, 2, 3
local MAXIMUM_NAME_SIZE, SUCCESSOR_SIZE, KEY_SIZE = 64, 54, 32
-- Runs of ASCII, and each other form of a scalar (W-33).
local SCALARS = {
    "^[\0-\x7f]+", "^[\xc2-\xdf][\x80-\xbf]", "^\xe0[\xa0-\xbf][\x80-\xbf]", "^\xed[\x80-\x9f][\x80-\xbf]",
    "^[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]", "^\xf0[\x90-\xbf][\x80-\xbf][\x80-\xbf]",
    "^[\xf1-\xf3][\x80-\xbf][\x80-\xbf][\x80-\xbf]", "^\xf4[\x80-\x8f][\x80-\xbf][\x80-\xbf]",
}

local function is_utf8(bytes)
    local at = 1
    while at <= #bytes do
        local last
        for _, scalar in ipairs(SCALARS) do last = last or select(2, bytes:find(scalar, at)) end
        if not last then return false end
        at = last + 1
    end
    return true
end

return function(malformed, noted)
    local f = {
        frame = ProtoField.bytes("inkling.frame", "Frame"),
        type = ProtoField.uint8("inkling.frame.type", "Type", base.HEX, TYPES),
        status = ProtoField.uint8("inkling.status", "Status", base.HEX),
        typing = ProtoField.bool("inkling.status.typing", "Typing", 8, nil, 0x01),
        away = ProtoField.bool("inkling.status.away", "Away", 8, nil, 0x02),
        unheard = ProtoField.bool("inkling.status.unheard", "Unheard", 8, nil, 0x04),
        interval = ProtoField.uint8("inkling.interval", "Idle interval", base.DEC),
        number = ProtoField.uint32("inkling.record", "Number", base.DEC),
        record_type = ProtoField.uint8("inkling.record.type", "Record type", base.DEC, RECORD_TYPES, 0xf0),
        flags = ProtoField.uint8("inkling.record.flags", "Flags", base.HEX, nil, 0x0f),
        first = ProtoField.bool("inkling.record.first", "First record of a message", 8, nil, 0x01),
        last = ProtoField.bool("inkling.record.last", "Last record of a message", 8, nil, 0x02),
        text = ProtoField.string("inkling.record.text", "Text"),
        name = ProtoField.string("inkling.record.name", "Display name"),
        invite = ProtoField.string("inkling.record.invite", "Invite"),
        generation = ProtoField.uint32("inkling.successor.generation", "Generation", base.DEC),
        secret = ProtoField.bytes("inkling.successor.secret", "Secret of the chat that follows"),
        owner = ProtoField.bytes("inkling.successor.owner", "Owner's key"),
        removed_count = ProtoField.uint16("inkling.successor.count", "Count of removed keys", base.DEC),
        removed = ProtoField.bytes("inkling.successor.removed", "Removed key"),
        record_body = ProtoField.bytes("inkling.record.body", "Body"),
        next = ProtoField.uint32("inkling.ack.next", "Next record expected", base.DEC),
        bitmap = ProtoField.uint16("inkling.ack.bitmap", "Held beyond it", base.HEX),
        ping = ProtoField.uint16("inkling.ping.token", "Token", base.HEX),
        pong = ProtoField.uint16("inkling.pong.token", "Token", base.HEX),
        reason = ProtoField.uint8("inkling.bye.reason", "Reason", base.DEC, REASONS),
        forward = ProtoField.uint32("inkling.forward.next", "Next record", base.DEC),
        body_size = ProtoField.uint16("inkling.unknown.length", "Body length", base.DEC),
        body = ProtoField.bytes("inkling.unknown.body", "Body"),
        rest = ProtoField.bytes("inkling.frames.rest", "Not parsed"),
    }
    local e = {
        empty = malformed("no_frames", "The datagram holds no frame (W-24)"),
        truncated = malformed("truncated", "The frame is cut off (W-24)"),
        unknown_type = malformed("unknown_type", "No frame has this type, which is below 0x40 (W-25)"),
        duplicate = malformed("duplicate", "A frame of this type occurred before (W-25)"),
        two_statuses = malformed("two_statuses", "A second status-bearing frame (W-27)"),
        flags = malformed("flags", "Only a text may lack one of the two flags (W-40)"),
        empty_text = malformed("empty_text", "The text is empty (W-28)"),
        not_utf8 = malformed("not_utf8", "The text is not valid UTF-8 by itself (W-28)"),
        last_will = malformed("last_will", "A last will is exactly one bye (W-21)"),
        unassigned = noted("unassigned", "An unassigned bit, reason, frame or record, which is ignored"),
        name = noted("no_name", "Longer than 64 bytes or not UTF-8: taken as an empty name (M-25)"),
    }

    local function has_bit(number, bit) return math.floor(number / 2 ^ bit) % 2 == 1 end

    -- Draws a status; gives it in words.
    local function draw_status(range, tree)
        local status, words = range:uint(), {}
        local item = tree:add(f.status, range)
        item:add(f.typing, range)
        item:add(f.away, range)
        local unheard = item:add(f.unheard, range)
        if status >= 8 then item:add_proto_expert_info(e.unassigned, "Unassigned bits are ignored (X-1)") end
        if has_bit(status, 2) then
            unheard:append_text(" (the link is down at the sender; the receiver doesn't apply this status, L-44, L-45)")
            words = { "unheard" }
        end
        if has_bit(status, 0) or #words == 0 then table.insert(words, has_bit(status, 0) and "typing" or "not typing") end
        if has_bit(status, 1) then table.insert(words, "away") end
        return table.concat(words, " and ")
    end

    -- For each type: draws the frame, whose bytes are all there, and gives the words for it and what is wrong with it.
    local draw = {}

    draw[0x01] = function(frame, tree)
        local words = draw_status(frame(1, 1), tree)
        tree:add(f.interval, frame(2, 1)):append_text((" (%.1f s)"):format(frame(2, 1):uint() / 10))
        return "heartbeat (" .. words .. ")"
    end

    draw[0x02] = function(frame, tree) return draw_status(frame(1, 1), tree) end

    -- The body of a successor, if it has the reserved form (registry.md).
    local function draw_successor(body, tree)
        local count = body:len() >= SUCCESSOR_SIZE and body(52, 2):uint()
        if not count or body:len() ~= SUCCESSOR_SIZE + KEY_SIZE * count then return tree:add(f.record_body, body) end
        tree:add(f.generation, body(0, 4))
        tree:add(f.secret, body(4, 16))
        tree:add(f.owner, body(20, KEY_SIZE))
        tree:add(f.removed_count, body(52, 2))
        for at = 0, count - 1 do tree:add(f.removed, body(SUCCESSOR_SIZE + KEY_SIZE * at, KEY_SIZE)) end
    end

    draw[RECORD] = function(frame, tree)
        local number, flags = frame(1, 4):uint(), frame(5, 1):uint()
        local kind, is_first, is_last = math.floor(flags / 16), has_bit(flags, 0), has_bit(flags, 1)
        tree:add(f.number, frame(1, 4))
        local type_item = tree:add(f.record_type, frame(5, 1))
        local item = tree:add(f.flags, frame(5, 1))
        item:add(f.first, frame(5, 1))
        item:add(f.last, frame(5, 1))
        if flags % 16 >= 4 then item:add_proto_expert_info(e.unassigned, "Unassigned flags are ignored (X-1)") end
        if kind > NAME then
            type_item:add_proto_expert_info(e.unassigned,
                "A record of this type is acknowledged and passed over (M-26, M-28)")
        end
        local size = frame:len() - 6
        local body = size > 0 and frame(6, size)
        local text_field = ({ [TEXT] = f.text, [NAME] = f.name, [INVITE] = f.invite })[kind]
        local body_item
        if body and text_field then
            body_item = tree:add_packet_field(text_field, body, ENC_UTF_8)
        elseif body and kind == SUCCESSOR then
            draw_successor(body, tree)
        elseif body then
            tree:add(f.record_body, body)
        elseif kind == NAME then
            tree:add(f.name, "")
        end
        local words = ("record %.0f %s, %d byte%s"):format(
            number, RECORD_TYPES[kind] or "of type " .. kind, size, size == 1 and "" or "s")
        if not (is_first and is_last) then
            words = words .. (is_first and ", first" or is_last and ", last" or ", between")
            if kind == NAME or kind == INVITE or kind == SUCCESSOR then return words, e.flags end
        end
        if kind == TEXT and not body then return words, e.empty_text end
        local is_text = not body or is_utf8(body:raw())
        if kind == TEXT and not is_text then return words, e.not_utf8 end
        if kind == NAME and (size > MAXIMUM_NAME_SIZE or not is_text) then body_item:add_proto_expert_info(e.name) end
        return words
    end

    draw[0x05] = function(frame, tree)
        local expected, held = frame(1, 4):uint(), {}
        for bit = 0, 15 do
            if has_bit(frame(5, 2):uint(), bit) then held[#held + 1] = ("%.0f"):format(expected + 1 + bit) end
        end
        local words = table.concat(held, ", ")
        tree:add(f.next, frame(1, 4)):append_text(" (all below are acknowledged)")
        tree:add(f.bitmap, frame(5, 2)):append_text(#held > 0 and " (records " .. words .. ")" or " (none)")
        return ("ack %.0f"):format(expected) .. (#held > 0 and " and " .. words or "")
    end

    draw[0x06] = function(frame, tree)
        tree:add(f.ping, frame(1, 2))
        return ("ping 0x%04x"):format(frame(1, 2):uint())
    end

    draw[0x07] = function(frame, tree)
        tree:add(f.pong, frame(1, 2))
        return ("pong 0x%04x"):format(frame(1, 2):uint())
    end

    draw[BYE] = function(frame, tree)
        local reason = frame(1, 1):uint()
        local item = tree:add(f.reason, frame(1, 1))
        if not REASONS[reason] then
            item:add_proto_expert_info(e.unassigned, "An unassigned reason is taken for 0, quit (X-2)")
        end
        return "bye " .. (REASONS[reason] or ("%d"):format(reason))
    end

    draw[0x09] = function(frame, tree)
        tree:add(f.forward, frame(1, 4)):append_text(
            " (the sender gave up what is not acknowledged below; the receiver expects this one, M-37, M-38)")
        return ("forward to %.0f"):format(frame(1, 4):uint())
    end

    local function draw_skipped(frame, tree, kind)
        tree:add(f.body_size, frame(1, 2))
        if frame:len() > 3 then tree:add(f.body, frame(3)) end
        local use = kind >= FIRST_EXPERIMENTAL_TYPE and "for experiments" or GREASING_TYPES[kind] and "greasing"
            or "unassigned"
        tree:add_proto_expert_info(e.unassigned, "A frame of this type is skipped (W-26): " .. use)
        return ("frame 0x%02x"):format(kind)
    end

    -- The size of the frame at an offset, or nil if it is cut off; then what is wrong with it as a whole.
    local function measure(tvb, offset, kind, seen)
        local left = tvb:len() - offset
        local size = SIZES[kind]
        if kind >= FIRST_SKIPPED_TYPE then
            size = left >= 3 and 3 + tvb(offset + 1, 2):uint()
        elseif not size then
            return nil, e.unknown_type
        elseif kind <= 0x02 and (seen[0x01] or seen[0x02]) then
            return nil, e.two_statuses
        elseif seen[kind] then
            return nil, e.duplicate
        elseif kind == RECORD then
            size = math.max(size, left)
        end
        if not size or size > left then return nil, e.truncated end
        return size
    end

    -- Draws the frame at an offset; gives its size, the words for it, and what is wrong with it.
    local function draw_frame(tvb, offset, tree, seen)
        local kind = tvb(offset, 1):uint()
        local words = TYPES[kind] or kind >= FIRST_SKIPPED_TYPE and "skipped" or "unassigned"
        local size, problem = measure(tvb, offset, kind, seen)
        seen[kind] = true
        local frame = size and tvb(offset, size) or tvb(offset)
        local item = tree:add(f.frame, frame)
        item:add(f.type, frame(0, 1))
        if size then
            words, problem = (draw[kind] or draw_skipped)(frame, item, kind)
        elseif frame:len() > 1 then
            item:add(f.rest, frame(1))
        end
        item:set_text(("Frame 0x%02x: "):format(kind) .. words)
        if problem then item:add_proto_expert_info(problem) end
        return size, words, problem
    end

    -- Draws all frames of an opened datagram, up to the first in error; gives the words for them.
    local function dissect(tvb, tree, is_last_will)
        local all, seen, offset = {}, {}, 0
        local problem = tvb:len() == 0 and e.empty or nil
        if problem then tree:add_proto_expert_info(problem) end
        while offset < tvb:len() and not problem do
            local size, words
            size, words, problem = draw_frame(tvb, offset, tree, seen)
            all[#all + 1] = words
            offset = offset + (size or 0)
        end
        if not problem and is_last_will and not (#all == 1 and seen[BYE]) then
            tree:add_proto_expert_info(e.last_will)
            problem = e.last_will
        end
        if problem then all[#all + 1] = "malformed" end
        return table.concat(all, "; ")
    end

    return { fields = f, experts = e, dissect = dissect }
end
