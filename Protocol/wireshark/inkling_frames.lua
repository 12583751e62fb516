-- Shows the frames of a sealed datagram that has been opened. See "Frames" in wire.md and registry.md.
-- The file gives a function, which inkling.lua calls once: Wireshark may load the file by itself too.

local TYPES = {
    [0x01] = "heartbeat", [0x02] = "typing", [0x03] = "hello", [0x04] = "message",
    [0x05] = "ack", [0x06] = "ping", [0x07] = "pong", [0x08] = "bye",
}
local REASONS = {
    [0] = "quit", [1] = "left", [2] = "suspended", [3] = "last will", [4] = "removed", [5] = "unheard",
}
local FIRST_SKIPPED_TYPE, FIRST_EXPERIMENTAL_TYPE = 0x40, 0xf0
local MAXIMUM_NAME_SIZE = 64
local HELLO_SIZE, MESSAGE_SIZE = 22, 10
-- The sizes of the frames that have only one.
local SIZES = { [0x01] = 3, [0x02] = 2, [0x05] = 11, [0x06] = 3, [0x07] = 3, [0x08] = 2 }

-- Whether the bytes are UTF-8 without overlong forms, surrogates and anything above U+10FFFF.
local function is_utf8(bytes)
    local at = 1
    while at <= #bytes do
        local first, second = bytes:byte(at, at + 1)
        second = second or 0
        local size
        if first < 0x80 then
            size = 1
        elseif first >= 0xc2 and first < 0xe0 then
            size = 2
        elseif first >= 0xe0 and first < 0xf0 then
            if first == 0xe0 and second < 0xa0 or first == 0xed and second > 0x9f then return false end
            size = 3
        elseif first >= 0xf0 and first < 0xf5 then
            if first == 0xf0 and second < 0x90 or first == 0xf4 and second > 0x8f then return false end
            size = 4
        else
            return false
        end
        local rest = bytes:sub(at + 1, at + size - 1)
        if #rest < size - 1 or rest:find("[^\128-\191]") then return false end
        at = at + size
    end
    return true
end

return function()
    local f = {
        frame = ProtoField.bytes("inkling.frame", "Frame"),
        type = ProtoField.uint8("inkling.frame.type", "Type", base.HEX, TYPES),
        status = ProtoField.uint8("inkling.status", "Status", base.HEX),
        typing = ProtoField.bool("inkling.status.typing", "Typing", 8, nil, 0x01),
        away = ProtoField.bool("inkling.status.away", "Away", 8, nil, 0x02),
        interval = ProtoField.uint8("inkling.interval", "Interval", base.DEC),
        run = ProtoField.bytes("inkling.hello.run", "Run"),
        own_stream = ProtoField.uint32("inkling.hello.stream", "Own stream", base.HEX),
        held = ProtoField.uint32("inkling.hello.held", "Stream held", base.HEX),
        hello_next = ProtoField.uint32("inkling.hello.next", "Next record expected", base.DEC),
        name_size = ProtoField.uint8("inkling.hello.name_length", "Name length", base.DEC),
        name = ProtoField.string("inkling.hello.name", "Name"),
        stream = ProtoField.uint32("inkling.message.stream", "Stream", base.HEX),
        record = ProtoField.uint32("inkling.message.record", "Record", base.DEC),
        flags = ProtoField.uint8("inkling.message.flags", "Flags", base.HEX),
        first = ProtoField.bool("inkling.message.first", "First record of a message", 8, nil, 0x01),
        last = ProtoField.bool("inkling.message.last", "Last record of a message", 8, nil, 0x02),
        text = ProtoField.string("inkling.message.text", "Text"),
        ack_stream = ProtoField.uint32("inkling.ack.stream", "Stream", base.HEX),
        ack_next = ProtoField.uint32("inkling.ack.next", "Next record expected", base.DEC),
        bitmap = ProtoField.uint16("inkling.ack.bitmap", "Received beyond it", base.HEX),
        ping = ProtoField.uint16("inkling.ping.token", "Token", base.HEX),
        pong = ProtoField.uint16("inkling.pong.token", "Token", base.HEX),
        reason = ProtoField.uint8("inkling.bye.reason", "Reason", base.DEC, REASONS),
        body_size = ProtoField.uint16("inkling.unknown.length", "Body length", base.DEC),
        body = ProtoField.bytes("inkling.unknown.body", "Body"),
        rest = ProtoField.bytes("inkling.frames.rest", "Not parsed"),
    }

    local function malformed(name, text)
        return ProtoExpert.new("inkling.error." .. name, text, expert.group.MALFORMED, expert.severity.ERROR)
    end
    local e = {
        empty = malformed("no_frames", "The datagram holds no frame (W-24)"),
        truncated = malformed("truncated", "The frame is cut off (W-24)"),
        unknown_type = malformed("unknown_type", "No frame has this type, which is below 0x40 (W-25)"),
        duplicate = malformed("duplicate", "A frame of this type occurred before (W-25)"),
        two_statuses = malformed("two_statuses", "A second status-bearing frame (W-27)"),
        name_too_long = malformed("name_too_long", "The name is longer than 64 bytes (W-29)"),
        zero_stream = malformed("zero_stream", "The own stream of a hello is 0 (W-29)"),
        invalid_text = malformed("invalid_text", "The text is not valid UTF-8 (W-28, W-29)"),
        empty_message = malformed("empty_message", "The message has no text (W-28)"),
        last_will = malformed("last_will", "A last will is exactly one bye (W-21)"),
        unassigned = ProtoExpert.new("inkling.note.unassigned", "An unassigned bit, reason or frame, which is ignored",
            expert.group.PROTOCOL, expert.severity.NOTE),
    }

    -- Draws a status; gives it in words.
    local function draw_status(range, tree)
        local status = range:uint()
        local item = tree:add(f.status, range)
        item:add(f.typing, range)
        item:add(f.away, range)
        if status >= 4 then item:add_proto_expert_info(e.unassigned, "Unassigned bits are ignored (X-1)") end
        local words = status % 2 == 1 and "typing" or "not typing"
        return status % 4 >= 2 and words .. " and away" or words
    end

    -- The records that an ack names beyond the next one.
    local function records_beyond(next_record, bitmap)
        local records = {}
        for bit = 0, 15 do
            if math.floor(bitmap / 2 ^ bit) % 2 == 1 then
                records[#records + 1] = ("%.0f"):format(next_record + 1 + bit)
            end
        end
        return #records > 0 and "records " .. table.concat(records, ", ") or "none"
    end

    -- For each type: draws the frame, whose bytes are all there, and gives the words for it and what is wrong with it.
    local draw = {}

    draw[0x01] = function(frame, tree)
        local words = draw_status(frame(1, 1), tree)
        tree:add(f.interval, frame(2, 1)):append_text((" (%.1f s)"):format(frame(2, 1):uint() / 10))
        return "heartbeat (" .. words .. ")"
    end

    draw[0x02] = function(frame, tree) return draw_status(frame(1, 1), tree) end

    draw[0x03] = function(frame, tree)
        tree:add(f.run, frame(1, 8))
        tree:add(f.own_stream, frame(9, 4))
        tree:add(f.held, frame(13, 4))
        tree:add(f.hello_next, frame(17, 4))
        tree:add(f.name_size, frame(21, 1))
        local size = frame:len() - HELLO_SIZE
        if size > MAXIMUM_NAME_SIZE then return "hello", e.name_too_long end
        if size == 0 then
            tree:add(f.name, "")
        else
            tree:add_packet_field(f.name, frame(HELLO_SIZE, size), ENC_UTF_8)
            if not is_utf8(frame(HELLO_SIZE, size):raw()) then return "hello", e.invalid_text end
        end
        if frame(9, 4):uint() == 0 then return "hello", e.zero_stream end
        return "hello"
    end

    draw[0x04] = function(frame, tree)
        tree:add(f.stream, frame(1, 4))
        tree:add(f.record, frame(5, 4))
        local flags = frame(9, 1):uint()
        local item = tree:add(f.flags, frame(9, 1))
        item:add(f.first, frame(9, 1))
        item:add(f.last, frame(9, 1))
        if flags >= 4 then item:add_proto_expert_info(e.unassigned, "Unassigned flags are ignored (X-1)") end
        local size = frame:len() - MESSAGE_SIZE
        if size == 0 then return "message", e.empty_message end
        tree:add_packet_field(f.text, frame(MESSAGE_SIZE, size), ENC_UTF_8)
        local words = size == 1 and "message 1 byte" or ("message %d bytes"):format(size)
        if flags % 4 ~= 3 then words = words .. (" (record %.0f)"):format(frame(5, 4):uint()) end
        if not is_utf8(frame(MESSAGE_SIZE, size):raw()) then return words, e.invalid_text end
        return words
    end

    draw[0x05] = function(frame, tree)
        local next_record = frame(5, 4):uint()
        tree:add(f.ack_stream, frame(1, 4))
        tree:add(f.ack_next, frame(5, 4))
        tree:add(f.bitmap, frame(9, 2)):append_text(" (" .. records_beyond(next_record, frame(9, 2):uint()) .. ")")
        return ("ack %.0f"):format(next_record)
    end

    draw[0x06] = function(frame, tree)
        tree:add(f.ping, frame(1, 2))
        return ("ping 0x%04x"):format(frame(1, 2):uint())
    end

    draw[0x07] = function(frame, tree)
        tree:add(f.pong, frame(1, 2))
        return ("pong 0x%04x"):format(frame(1, 2):uint())
    end

    draw[0x08] = function(frame, tree)
        local reason = frame(1, 1):uint()
        local item = tree:add(f.reason, frame(1, 1))
        if not REASONS[reason] then
            item:add_proto_expert_info(e.unassigned, "An unassigned reason is taken as 0, quit (X-2)")
        end
        return "bye " .. (REASONS[reason] or ("%d"):format(reason))
    end

    local function draw_skipped(frame, tree, kind)
        tree:add(f.body_size, frame(1, 2))
        if frame:len() > 3 then tree:add(f.body, frame(3)) end
        local use = kind >= FIRST_EXPERIMENTAL_TYPE and "for experiments" or "unassigned"
        tree:add_proto_expert_info(e.unassigned, "A frame of this type is skipped (W-26): " .. use)
        return ("frame 0x%02x"):format(kind)
    end

    -- How long the frame at an offset is by its type and its own length; nil if that is cut off.
    local function frame_size(tvb, offset, kind)
        local left = tvb:len() - offset
        if kind >= FIRST_SKIPPED_TYPE then return left >= 3 and 3 + tvb(offset + 1, 2):uint() or nil end
        if kind == 0x03 then return left >= HELLO_SIZE and HELLO_SIZE + tvb(offset + 21, 1):uint() or nil end
        if kind == 0x04 then return left >= MESSAGE_SIZE and left or nil end
        return SIZES[kind]
    end

    -- Draws the frame at an offset; gives its size, the words for it, and what is wrong with it.
    local function draw_frame(tvb, offset, tree, seen)
        local kind = tvb(offset, 1):uint()
        local words = TYPES[kind] or kind >= FIRST_SKIPPED_TYPE and "skipped" or "unassigned"
        local size = frame_size(tvb, offset, kind)
        local problem
        if kind < FIRST_SKIPPED_TYPE and not TYPES[kind] then
            problem = e.unknown_type
        elseif (kind == 0x01 or kind == 0x02) and (seen[0x01] or seen[0x02]) then
            problem = e.two_statuses
        elseif kind < FIRST_SKIPPED_TYPE and seen[kind] then
            problem = e.duplicate
        elseif not size or size > tvb:len() - offset then
            problem = e.truncated
        end
        seen[kind] = true
        local frame = problem and tvb(offset) or tvb(offset, size)
        local item = tree:add(f.frame, frame)
        item:add(f.type, frame(0, 1))
        if not problem then
            if draw[kind] then words, problem = draw[kind](frame, item) else words = draw_skipped(frame, item, kind) end
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
        local problem
        while offset < tvb:len() and not problem do
            local size, words
            size, words, problem = draw_frame(tvb, offset, tree, seen)
            all[#all + 1] = words
            if not problem then offset = offset + size end
        end
        if tvb:len() == 0 then
            tree:add_proto_expert_info(e.empty)
            problem = e.empty
        end
        if not problem and is_last_will and not (#all == 1 and seen[0x08]) then
            tree:add_proto_expert_info(e.last_will)
            problem = e.last_will
        end
        if problem then all[#all + 1] = "malformed" end
        return table.concat(all, ", ")
    end

    return { fields = f, experts = e, dissect = dissect }
end
