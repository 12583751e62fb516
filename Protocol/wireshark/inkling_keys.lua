-- What a user gives the dissector: names of chats, and the file of transport keys. It uses nothing of Wireshark.
-- The file gives a function that takes inkling_crypto.lua; inkling.lua calls it once.

local SEALED_HEADER_SIZE = 9

local function unhex(text)
    return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

return function(crypto)
    -- Names by the 8 bytes of their tag. The text has names of open chats (W-8), and NAME=TAG for others.
    local function chat_names(text)
        local names = {}
        for entry in text:gmatch("[^,]+") do
            local name = entry:match("^%s*(.-)%s*$")
            local label, tag = name:match("^(.*)=(%x+)$")
            if tag and #tag == 16 then name, tag = label, unhex(tag) else tag = nil end
            name = name:gsub("%%(%x%x)", unhex)
            if name ~= "" then names[tag or crypto.sha256("inkling/1 open chat tag\0" .. name):sub(1, 8)] = name end
        end
        return names
    end

    local KeyFile = {}
    KeyFile.__index = KeyFile

    -- Reads the lines that the file has got since the last call; says whether a key is among them.
    function KeyFile:read_on()
        local found = false
        while self.file do
            local line = self.file:read("*L")
            if not line then break end
            self.line = self.line .. line
            local index, key = self.line:match("^%s*(%x+)%s+(%x+)%f[^%x]")
            local is_whole = index and #index == 8 and #key == 64
            -- The last line may still be written.
            if not is_whole and not self.line:find("\n$") then break end
            if is_whole then
                index = tonumber(index, 16)
                self.keys[index] = self.keys[index] or {}
                table.insert(self.keys[index], unhex(key))
                found = true
            elseif not self.line:find("^%s*#") and self.line:find("%S") then
                print("Inkling: the key file has a line that is not an index and a key; it is skipped")
            end
            self.line = ""
        end
        return found
    end

    function KeyFile:close()
        if self.file then self.file:close() end
        self.file = nil
    end

    function KeyFile:has(index) return self.keys[index] ~= nil end

    function KeyFile:try(bytes, index, counter)
        local header, sealed = bytes:sub(1, SEALED_HEADER_SIZE), bytes:sub(SEALED_HEADER_SIZE + 1)
        local nonce = "\0\0\0\0" .. crypto.little_endian(counter, 8)
        for _, key in ipairs(self.keys[index] or {}) do
            local frames = crypto.open(key, nonce, header, sealed)
            if frames then return frames end
        end
    end

    -- The frames of a sealed datagram, or nil (W-19); then whether there was a key to try. Each key of the index is
    -- tried, and those that have come to the file meanwhile.
    function KeyFile:unseal(bytes, index, counter)
        local frames = self:try(bytes, index, counter)
        if not frames and self:read_on() then frames = self:try(bytes, index, counter) end
        return frames, self:has(index)
    end

    -- The file stays open: while a capture is running, it may grow.
    local function open(path)
        local keys = setmetatable({ keys = {}, line = "" }, KeyFile)
        if path ~= "" then
            local file, problem = io.open(path, "r")
            if not file then print("Inkling: can't read the key file: " .. problem) end
            keys.file = file
            keys:read_on()
        end
        return keys
    end

    return { open = open, chat_names = chat_names }
end
