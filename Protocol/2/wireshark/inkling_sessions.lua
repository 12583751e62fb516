-- Ties the datagrams of a capture together: initiations, retries and responses into handshakes, sealed datagrams to
-- their handshake, tells to asks. It uses nothing of Wireshark. An endpoint is a string of address and port.
--
-- Message 2 holds the responder's index encrypted. So the initiator's index alone finds what the responder sends. An
-- index that first occurs on its way to the responder, soon after a response, is taken for the responder's. Where two
-- nodes make several handshakes at once, for several chats, it may belong to any of these. An opened handshake tells
-- its indices, and the state of its session (L-58 to L-69).

-- The session of a response is confirmed within this time or dropped (L-12).
local CONFIRMATION_SECONDS = 5
local REPLAY_WINDOW = 1024
local LAST_WILL_COUNTER = 0xffffffff
local INITIATION_SIZE = 121

local Sessions = {}
Sessions.__index = Sessions

local function new()
    return setmetatable({
        count = 0,
        handshakes = {}, -- by the initiator's index, each a list
        answered = {}, -- handshakes by initiator and responder, each a list
        directions = {}, -- by the receiver's index, each a list
        rivals = {}, -- how many directions may belong to just these handshakes
        asks = {}, -- by token and asker
        states = { count = 0 }, -- by chat, and key, run and epoch of both ends
        epochs = {}, -- the last run and epoch by chat and both keys
    }, Sessions)
end

local function append(lists, key, value)
    lists[key] = lists[key] or {}
    table.insert(lists[key], value)
end

-- The latest in a list that fits, or nil.
local function latest(list, fits)
    for at = #(list or {}), 1, -1 do
        if fits(list[at]) then return list[at] end
    end
end

local function new_marks() return { seen = {} } end

function Sessions:next_number()
    self.count = self.count + 1
    return self.count - 1
end

-- An initiation belongs to the handshake of the same bytes, but for the cookie: it is sent more than once (L-4).
function Sessions:initiation(number, source, destination, index, bytes)
    local key = bytes:sub(1, INITIATION_SIZE)
    local handshake = latest(self.handshakes[index], function(one) return one.bytes == key end)
    local is_first = not handshake
    if is_first then
        handshake = {
            number = self:next_number(), bytes = key, initiator = source, initiations = {}, retries = {},
            responses = {},
        }
        append(self.handshakes, index, handshake)
        handshake.back = {
            number = handshake.number, receiver = source, handshakes = { handshake }, to_initiator = true,
            marks = new_marks(),
        }
        append(self.directions, index, handshake.back)
    end
    handshake.responder = destination
    table.insert(handshake.initiations, number)
    return {
        handshake = handshake, is_first = is_first, first = handshake.initiations[1],
        cookie_of = handshake.retries[bytes:sub(INITIATION_SIZE + 1)],
    }
end

-- The handshake that a retry or response to this index answers.
function Sessions:handshake_of(source, destination, index)
    local list = self.handshakes[index]
    return latest(list, function(one) return one.initiator == destination and one.responder == source end)
        or latest(list, function(one) return one.initiator == destination end)
end

function Sessions:retry(number, source, destination, index, cookie)
    local handshake = self:handshake_of(source, destination, index)
    if handshake then handshake.retries[cookie] = number end
    return { handshake = handshake }
end

function Sessions:response(number, time, source, destination, index)
    local handshake = self:handshake_of(source, destination, index)
    if handshake then
        handshake.responder = source
        if #handshake.responses == 0 then append(self.answered, destination .. ">" .. source, handshake) end
        table.insert(handshake.responses, number)
        handshake.answered_at = time
    end
    return { handshake = handshake }
end

-- What the run and epoch of a sender say, compared with its last ones for this receiver: a new run or epoch, an old
-- epoch, or nothing.
function Sessions:compare_epoch(chat, sender, receiver, run, epoch)
    local key = chat.key .. sender .. receiver
    local last = self.epochs[key]
    self.epochs[key] = { run = run, epoch = epoch }
    if not last or last.run == run and last.epoch == epoch then return nil end
    return last.run ~= run and "new_run" or last.epoch < epoch and "new_epoch" or "old_epoch"
end

-- The two messages of a handshake were opened: its session is one of the state that they name, under two indices.
function Sessions:opened(handshake)
    local first, second = handshake.first, handshake.second
    local ends = { first.initiator .. first.run .. first.epoch, first.responder .. second.run .. second.epoch }
    table.sort(ends)
    local key = first.chat.key .. ends[1] .. ends[2]
    local state = self.states[key]
    if not state then
        state = { number = self.states.count, [first.initiator] = new_marks(), [first.responder] = new_marks() }
        self.states[key] = state
        self.states.count = self.states.count + 1
    end
    handshake.state, handshake.claimed = state.number, true
    handshake.back.marks = state[first.responder]
    append(self.directions, second.index, {
        number = handshake.number, receiver = handshake.responder, handshakes = { handshake }, to_initiator = false,
        marks = state[first.initiator],
    })
end

-- The handshakes that an index, first seen from this initiator to this responder, may belong to.
function Sessions:candidates(time, source, destination)
    local found = {}
    for _, handshake in ipairs(self.answered[source .. ">" .. destination] or {}) do
        if not handshake.claimed and time - handshake.answered_at <= CONFIRMATION_SECONDS then
            table.insert(found, handshake)
        end
    end
    return found
end

-- Each handshake has one index of its responder. When as many indices are found as there are handshakes that they may
-- belong to, no later index belongs to one of these.
function Sessions:claim(handshakes)
    local numbers = {}
    for at, handshake in ipairs(handshakes) do numbers[at] = handshake.number end
    local key = table.concat(numbers, ",")
    self.rivals[key] = (self.rivals[key] or 0) + 1
    if self.rivals[key] < #handshakes then return end
    for _, handshake in ipairs(handshakes) do handshake.claimed = true end
end

-- The direction of a session that an index names; a new one if nothing in the capture fits.
function Sessions:direction(time, source, destination, index)
    local list = self.directions[index]
    local direction = latest(list, function(one) return one.receiver == destination end)
    if direction then return direction end
    local handshakes = self:candidates(time, source, destination)
    -- A node that moved has another address, but the same index (L-24).
    if #handshakes == 0 and list then return list[#list] end
    self:claim(handshakes)
    direction = {
        number = #handshakes == 1 and handshakes[1].number or #handshakes == 0 and self:next_number() or nil,
        receiver = destination, handshakes = handshakes, to_initiator = false, marks = new_marks(),
    }
    append(self.directions, index, direction)
    return direction
end

-- What the capture tells of a sealed datagram. A last will has no place among the other counters (W-21).
function Sessions:sealed(time, source, destination, index, counter)
    local direction = self:direction(time, source, destination, index)
    local result, marks = { direction = direction }, direction.marks
    if counter ~= LAST_WILL_COUNTER then
        result.repeats = marks.seen[counter]
        result.is_old = marks.highest ~= nil and marks.highest - counter >= REPLAY_WINDOW
    end
    return result
end

-- Marks the counter, as a receiver does with a datagram that authenticates (W-23).
function Sessions:mark(number, direction, counter)
    if counter == LAST_WILL_COUNTER then return end
    local marks = direction.marks
    marks.seen[counter] = marks.seen[counter] or number
    marks.highest = math.max(marks.highest or counter, counter)
end

-- Whether the capture shows that this index was given out.
function Sessions:knows(index) return self.directions[index] ~= nil end

function Sessions:ask(number, source, token, check)
    local key = token .. ">" .. source
    local ask = self.asks[key]
    local is_first = not ask or ask.check ~= check
    if is_first then
        ask = { check = check, frame = number, tells = {} }
        self.asks[key] = ask
    end
    return { ask = ask, is_first = is_first, first = ask.frame }
end

function Sessions:tell(number, destination, token)
    local ask = self.asks[token .. ">" .. destination]
    if ask then table.insert(ask.tells, number) end
    return { ask = ask }
end

return { new = new }
