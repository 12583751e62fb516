-- Shows the frames of a sealed datagram that has been opened. See "Frames" in wire.md and registry.md.
-- The file returns a function of the makers of errors and notes, which inkling.lua calls once: Wireshark may load the
-- file by itself too.

local HEARTBEAT, TYPING, RECORD, ACK, PING, PONG, BYE, FORWARD = 1, 2, 4, 5, 6, 7, 8, 9
local TYPES = {
    [HEARTBEAT] = "heartbeat", [TYPING] = "typing", [RECORD] = "record", [ACK] = "ack", [PING] = "ping",
    [PONG] = "pong", [BYE] = "bye", [FORWARD] = "forward", [0x41] = "text ID",
}
-- The bytes that a frame of each type has; a record has at least these.
local SIZES = {
    [HEARTBEAT] = 3, [TYPING] = 2, [RECORD] = 6, [ACK] = 7, [PING] = 3, [PONG] = 3, [BYE] = 2, [FORWARD] = 5,
}
local FIRST_SKIPPED_TYPE, FIRST_EXPERIMENTAL_TYPE = 0x40, 0xf0
local TEXT_ID, TEXT_ID_SIZE = 0x41, 27
local GREASING_TYPES = { [0x5a] = true, [0x9a] = true, [0xda] = true }
local REASONS = { [0] = "quit", [1] = "left", [2] = "suspended", [3] = "last will", [6] = "removed" }
local TEXT, NAME, INVITE, SUCCESSOR = 0, 1, 2, 3
local RECORD_TYPES = {
    [TEXT] = "text", [NAME] = "name", [INVITE] = "invite", [SUCCESSOR] = "successor", [14] = "greasing",
    [15] = "experimental",
}
local MAXIMUM_NAME_SIZE, SUCCESSOR_SIZE, KEY_SIZE = 64, 50, 32
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

local function has_bit(number, bit) return math.floor(number / 2 ^ bit) % 2 == 1 end

return function(malformed, noted)
    local function bytes(name, label) return ProtoField.bytes("inkling." .. name, label) end
    local function text(name, label) return ProtoField.string("inkling." .. name, label) end
    local function number(name, label) return ProtoField.uint32("inkling." .. name, label, base.DEC) end
    local function hex(name, label) return ProtoField.uint16("inkling." .. name, label, base.HEX) end
    local function bit(name, label, mask) return ProtoField.bool("inkling." .. name, label, 8, nil, mask) end
    local f = {
        frame = bytes("frame", "Frame"), type = ProtoField.uint8("inkling.frame.type", "Type", base.HEX, TYPES),
        status = ProtoField.uint8("inkling.status", "Status", base.HEX), typing = bit("status.typing", "Typing", 1),
        away = bit("status.away", "Away", 2), unheard = bit("status.unheard", "Unheard", 4),
        interval = number("interval", "Idle interval"), number = number("record", "Number"),
        record_type = ProtoField.uint8("inkling.record.type", "Record type", base.DEC, RECORD_TYPES, 0xf0),
        flags = ProtoField.uint8("inkling.record.flags", "Flags", base.HEX, nil, 0x0f),
        first = bit("record.first", "First record of a message", 1),
        last = bit("record.last", "Last record of a message", 2), text = text("record.text", "Text"),
        name = text("record.name", "Display name"), invite = text("record.invite", "Invite"),
        record_body = bytes("record.body", "Body"), seed = bytes("successor.seed", "Seed"),
        owner = bytes("successor.owner", "Owner's key"), removed = bytes("successor.removed", "Removed key"),
        removed_count = number("successor.count", "Count of removed keys"),
        next = number("ack.next", "Next record expected"), bitmap = hex("ack.bitmap", "Held beyond it"),
        ping = hex("ping.token", "Token"), pong = hex("pong.token", "Token"),
        reason = ProtoField.uint8("inkling.bye.reason", "Reason", base.DEC, REASONS),
        forward = number("forward.next", "Next record"), body_size = number("unknown.length", "Body length"),
        run = bytes("text_id.run", "Run of the writer"),
        text_number = ProtoField.uint64("inkling.text_id.number", "Number of the text"),
        written = ProtoField.absolute_time("inkling.text_id.written", "Written"),
        body = bytes("unknown.body", "Body"), rest = bytes("frames.rest", "Not parsed"),
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

    -- Draws a status; returns it in words.
    local function draw_status(range, tree)
        local status = range:uint()
        local item = tree:add(f.status, range)
        item:add(f.typing, range)
        item:add(f.away, range)
        local unheard = item:add(f.unheard, range)
        if status >= 8 then item:add_proto_expert_info(e.unassigned, "Unassigned bits are ignored (X-1)") end
        local words = has_bit(status, 0) and "typing" or "not typing"
        if has_bit(status, 1) then words = words .. " and away" end
        if not has_bit(status, 2) then return words end
        unheard:append_text(" (the link is down at the sender; the receiver doesn't apply this status, L-44, L-45)")
        return status % 4 > 0 and "unheard, " .. words or "unheard"
    end

    -- For each type: draws a frame that is not cut off; returns the words for it, and its error or nil.
    local draw = {}

    draw[HEARTBEAT] = function(frame, tree)
        local words = draw_status(frame(1, 1), tree)
        tree:add(f.interval, frame(2, 1)):append_text((" (%.1f s)"):format(frame(2, 1):uint() / 10))
        return "heartbeat (" .. words .. ")"
    end

    draw[TYPING] = function(frame, tree) return draw_status(frame(1, 1), tree) end

    -- Draws the body of a successor that has its form (M-89), and of any other record.
    local function draw_body(body, tree, kind)
        local count = kind == SUCCESSOR and body:len() >= SUCCESSOR_SIZE and body(48, 2):uint()
        if not count or body:len() ~= SUCCESSOR_SIZE + KEY_SIZE * count then return tree:add(f.record_body, body) end
        tree:add(f.seed, body(0, 16))
        tree:add(f.owner, body(16, KEY_SIZE))
        tree:add(f.removed_count, body(48, 2))
        for at = 1, count do tree:add(f.removed, body(SUCCESSOR_SIZE + KEY_SIZE * (at - 1), KEY_SIZE)) end
    end

    draw[RECORD] = function(frame, tree)
        local size, flags = frame:len() - 6, frame(5, 1):uint()
        local kind, is_first, is_last = math.floor(flags / 16), has_bit(flags, 0), has_bit(flags, 1)
        tree:add(f.number, frame(1, 4))
        local type_item, item = tree:add(f.record_type, frame(5, 1)), tree:add(f.flags, frame(5, 1))
        item:add(f.first, frame(5, 1))
        item:add(f.last, frame(5, 1))
        if flags % 16 >= 4 then item:add_proto_expert_info(e.unassigned, "Unassigned flags are ignored (X-1)") end
        if kind > SUCCESSOR then
            type_item:add_proto_expert_info(e.unassigned, "Acknowledged and passed over (M-26, M-28)")
        end
        local field = ({ [TEXT] = f.text, [NAME] = f.name, [INVITE] = f.invite })[kind]
        local body, body_item = size > 0 and frame(6, size), nil
        if field and body then body_item = tree:add_packet_field(field, body, ENC_UTF_8) end
        if not field and body then draw_body(body, tree, kind) end
        if kind == NAME and not body then tree:add(f.name, "") end
        local type_word = kind == INVITE and not body and "knock" or RECORD_TYPES[kind] or "of type " .. kind
        local words = ("record %.0f %s, %d byte%s"):format(
            frame(1, 4):uint(), type_word, size, size == 1 and "" or "s")
        if not is_first or not is_last then
            words = words .. (is_first and ", first" or is_last and ", last" or ", between")
            if kind > TEXT and kind <= SUCCESSOR then return words, e.flags end
        end
        local is_valid = not body or is_utf8(body:raw())
        if kind == NAME and (size > MAXIMUM_NAME_SIZE or not is_valid) then body_item:add_proto_expert_info(e.name) end
        return words, kind == TEXT and (not body and e.empty_text or not is_valid and e.not_utf8) or nil
    end

    draw[ACK] = function(frame, tree)
        local expected, held = frame(1, 4):uint(), {}
        for at = 0, 15 do
            if has_bit(frame(5, 2):uint(), at) then held[#held + 1] = ("%.0f"):format(expected + 1 + at) end
        end
        local words = table.concat(held, ", ")
        tree:add(f.next, frame(1, 4)):append_text(" (all below are acknowledged)")
        tree:add(f.bitmap, frame(5, 2)):append_text(#held > 0 and " (records " .. words .. ")" or " (none)")
        return ("ack %.0f"):format(expected) .. (#held > 0 and " and " .. words or "")
    end

    for kind, field in pairs({ [PING] = f.ping, [PONG] = f.pong }) do
        draw[kind] = function(frame, tree)
            tree:add(field, frame(1, 2))
            return ("%s 0x%04x"):format(TYPES[kind], frame(1, 2):uint())
        end
    end

    draw[BYE] = function(frame, tree)
        local reason = frame(1, 1):uint()
        local item = tree:add(f.reason, frame(1, 1))
        if not REASONS[reason] then item:add_proto_expert_info(e.unassigned, "Taken for 0, quit (X-2)") end
        return "bye " .. (REASONS[reason] or reason)
    end

    draw[FORWARD] = function(frame, tree)
        tree:add(f.forward, frame(1, 4)):append_text(
            " (the sender gave up what is not acknowledged below; the receiver expects this one, M-37, M-38)")
        return ("forward to %.0f"):format(frame(1, 4):uint())
    end

    local function draw_skipped(frame, tree, kind)
        tree:add(f.body_size, frame(1, 2))
        if frame:len() > 3 then tree:add(f.body, frame(3)) end
        local use = kind >= FIRST_EXPERIMENTAL_TYPE and "for experiments" or GREASING_TYPES[kind] and "greasing"
        use = kind == TEXT_ID and "a text ID of another form (M-81)" or use or "unassigned"
        tree:add_proto_expert_info(e.unassigned, "Skipped (W-26): " .. use)
        return ("frame 0x%02x"):format(kind)
    end

    draw[TEXT_ID] = function(frame, tree)
        local number = frame:len() == TEXT_ID_SIZE and frame(11, 8):uint64() or UInt64(0)
        if number == UInt64(0) then return draw_skipped(frame, tree, TEXT_ID) end
        tree:add(f.body_size, frame(1, 2))
        tree:add(f.run, frame(3, 8))
        tree:add(f.text_number, frame(11, 8))
        local written = frame(19, 8):uint64()
        local time = NSTime.new((written / 1000):tonumber(), (written % 1000):tonumber() * 1000000)
        tree:add(f.written, frame(19, 8), time)
        return "text ID " .. tostring(number)
    end

    -- Returns the size of the frame at an offset, or nil and its error.
    local function measure(tvb, offset, kind, seen)
        local left, size = tvb:len() - offset, SIZES[kind]
        if kind >= FIRST_SKIPPED_TYPE then
            size = left >= 3 and 3 + tvb(offset + 1, 2):uint()
        elseif not size then
            return nil, e.unknown_type
        elseif kind <= TYPING and (seen[HEARTBEAT] or seen[TYPING]) then
            return nil, e.two_statuses
        elseif seen[kind] then
            return nil, e.duplicate
        elseif kind == RECORD then
            size = math.max(size, left)
        end
        if not size or size > left then return nil, e.truncated end
        return size
    end

    -- Draws all frames of an opened datagram, up to the first in error; returns the words for them.
    local function dissect(tvb, tree, is_last_will)
        local all, seen, offset, problem = {}, {}, 0, nil
        while offset < tvb:len() and not problem do
            local kind = tvb(offset, 1):uint()
            local words = TYPES[kind] or kind >= FIRST_SKIPPED_TYPE and "skipped" or "unassigned"
            local size
            size, problem = measure(tvb, offset, kind, seen)
            seen[kind] = true
            local frame = tvb(offset, size or tvb:len() - offset)
            local item = tree:add(f.frame, frame)
            item:add(f.type, frame(0, 1))
            if size then
                words, problem = (draw[kind] or draw_skipped)(frame, item, kind)
            elseif frame:len() > 1 then
                item:add(f.rest, frame(1))
            end
            item:set_text(("Frame 0x%02x: "):format(kind) .. words)
            if problem then item:add_proto_expert_info(problem) end
            all[#all + 1], offset = words, offset + frame:len()
        end
        local is_no_will = is_last_will and not problem and (#all > 1 or not seen[BYE])
        local whole = #all == 0 and e.empty or is_no_will and e.last_will
        if whole then tree:add_proto_expert_info(whole) end
        if whole or problem then all[#all + 1] = "malformed" end
        return table.concat(all, "; ")
    end

    return { fields = f, experts = e, dissect = dissect }
end
