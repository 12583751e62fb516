-- Ties the datagrams of a capture together: initiations, retries and responses into handshakes, sealed datagrams to
-- their handshake. It uses nothing of Wireshark. An endpoint is a string of address and port.
--
-- Message 2 holds the responder's index encrypted. So an index that first occurs on its way to the responder, soon
-- after a response, is taken for the responder's. After several responses at once, for several chats, it may belong to
-- any of these handshakes. An opened handshake tells its indices, and the state of its session (L-58 to L-69).

-- The session of a response is confirmed within this time or dropped (L-12).
local CONFIRMATION_SECONDS = 5
local REPLAY_WINDOW = 1024
local LAST_WILL_COUNTER = 0xffffffff
local INITIATION_SIZE = 121

local Sessions = {}
Sessions.__index = Sessions

-- `handshakes` and `directions` hold lists by the index that was given out, `answered` handshakes by initiator and
-- responder; `states` by chat, and key, run and epoch of both ends; `epochs` the last run and epoch by chat and keys.
local function new()
    return setmetatable({
        count = 0, handshakes = {}, directions = {}, answered = {}, states = {}, state_count = 0, epochs = {},
    }, Sessions)
end

-- The latest in a list that fits, or nil.
local function latest(list, fits)
    for at = #(list or {}), 1, -1 do
        if fits(list[at]) then return list[at] end
    end
end

local function append(lists, key, value)
    lists[key] = lists[key] or {}
    table.insert(lists[key], value)
    return value
end

function Sessions:next_number()
    self.count = self.count + 1
    return self.count - 1
end

-- Adds one direction of a session: the datagrams for an index. `marks` has the counters that occurred in its state
-- (W-20).
function Sessions:add_direction(index, receiver, handshakes, to_initiator, marks)
    return append(self.directions, index, {
        receiver = receiver, handshakes = handshakes, to_initiator = to_initiator, marks = marks or { seen = {} },
        number = #handshakes == 0 and self:next_number() or nil,
    })
end

-- The handshake of an initiation, and whether it is new: it is sent more than once, also with a cookie (L-4, L-13).
function Sessions:initiation(number, source, destination, index, bytes)
    local key = bytes:sub(1, INITIATION_SIZE)
    local handshake = latest(self.handshakes[index], function(one) return one.bytes == key end)
    local is_new = not handshake
    if is_new then
        handshake = append(self.handshakes, index, {
            number = self:next_number(), bytes = key, frame = number, ends = {}, retries = {}, responses = {},
        })
        handshake.back = self:add_direction(index, source, { handshake }, true)
    end
    handshake.ends[source], handshake.ends[destination] = true, true
    return handshake, is_new
end

-- The handshake that a retry or response to this index answers.
function Sessions:handshake_of(source, destination, index)
    local list = self.handshakes[index]
    return latest(list, function(one) return one.ends[source] and one.ends[destination] end)
        or latest(list, function(one) return one.ends[destination] end)
end

function Sessions:response(number, time, source, destination, index)
    local handshake = self:handshake_of(source, destination, index)
    if not handshake then return nil end
    if #handshake.responses == 0 then append(self.answered, destination .. ">" .. source, handshake) end
    table.insert(handshake.responses, number)
    handshake.responder, handshake.answered_at = source, time
    return handshake
end

-- Compares the run and epoch of a sender with its last ones for this receiver; returns the name of a note, or nil.
function Sessions:compare_epoch(chat, sender, receiver, run, epoch)
    local key = chat.key .. sender .. receiver
    local last = self.epochs[key]
    self.epochs[key] = { run = run, epoch = epoch }
    if not last or last.run == run and last.epoch == epoch then return nil end
    return last.run ~= run and "new_run" or last.epoch < epoch and "new_epoch" or "old_epoch"
end

-- Both messages of a handshake were opened: its session is one of the state that they name, under two indices.
function Sessions:opened(handshake)
    local first, second = handshake.first, handshake.second
    local ends = { first.initiator .. first.run .. first.epoch, first.responder .. second.run .. second.epoch }
    table.sort(ends)
    local key = first.chat.key .. table.concat(ends)
    local state = self.states[key] or { number = self.state_count }
    if not self.states[key] then
        self.states[key], self.state_count = state, self.state_count + 1
        state[first.initiator], state[first.responder] = { seen = {} }, { seen = {} }
    end
    handshake.state, handshake.claimed, handshake.back.marks = state.number, true, state[first.responder]
    self:add_direction(second.index, handshake.responder, { handshake }, false, state[first.initiator])
end

-- The direction of a session that an index names; a new one if nothing in the capture fits.
function Sessions:direction(time, source, destination, index)
    local list, handshakes = self.directions[index], {}
    local direction = latest(list, function(one) return one.receiver == destination end)
    if direction then return direction end
    for _, handshake in ipairs(self.answered[source .. ">" .. destination] or {}) do
        local is_open = not handshake.claimed and time - handshake.answered_at <= CONFIRMATION_SECONDS
        if is_open then table.insert(handshakes, handshake) end
    end
    -- A node that moved has another address, but the same index (L-24).
    if #handshakes == 0 and list then return list[#list] end
    if #handshakes == 1 then handshakes[1].claimed = true end
    return self:add_direction(index, destination, handshakes, false)
end

-- Returns the direction of a sealed datagram, and whether a receiver drops it for its counter. A last will has no place
-- among the other counters (W-21).
function Sessions:sealed(time, source, destination, index, counter)
    local direction = self:direction(time, source, destination, index)
    local marks = counter == LAST_WILL_COUNTER and { seen = {} } or direction.marks
    local is_old = marks.highest ~= nil and marks.highest - counter >= REPLAY_WINDOW
    return { direction = direction, marks = marks, repeats = marks.seen[counter], is_old = is_old }
end

-- Marks the counter, as a receiver does with a datagram that authenticates (W-23).
function Sessions:mark(number, marks, counter)
    marks.seen[counter], marks.highest = marks.seen[counter] or number, math.max(marks.highest or counter, counter)
end

return { new = new }
