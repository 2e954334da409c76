-- What is accepted while a macro is recorded is in the macro as text, in place of the key that accepted
-- it: at another place, or without a server, that key would do something else.

local M = {}

local namespace = vim.api.nvim_create_namespace('fim.macro')

---@class fim.Recording what was typed since recording began
---@field typed string[] as Neovim records it; the texts that were accepted are in `keys`
---@field keys table<integer, string> by index, what to put in place of a key

local recording ---@type fim.Recording?
local asked = 0 -- index of the key that asks to accept
local fix ---@type fun()? corrects the register of the last recording

--- Recording begins.
function M.began()
  recording = { typed = {}, keys = {} }
  vim.on_key(function(_, typed)
    if fix then
      fix()
    elseif recording and typed and typed ~= '' then
      table.insert(recording.typed, typed)
    end
  end, namespace)
end

--- The key that was typed last asks to accept a suggestion.
function M.asked()
  asked = recording and #recording.typed or 0
end

--- That key inserted `text`.
---@param text string
function M.took(text)
  if recording and asked > 0 then
    recording.keys[asked] = (recording.keys[asked] or '') .. M.keys(text)
  end
end

--- Keys of insert mode that insert a text as it is, whatever is mapped.
---@param text string
---@return string
function M.keys(text)
  local quoted = text:gsub('[^%w ]', function(char)
    return ('\\%03d'):format(char:byte())
  end)
  return vim.keycode('<Cmd>') .. ('lua vim.api.nvim_paste("%s", false, -1)\r'):format(quoted)
end

--- Recording ends: `name` is the register, `contents` what Neovim will write, or append, to it.
---@param name string
---@param contents string
function M.ended(name, contents)
  local done = recording
  recording, asked = nil, 0
  if not done or vim.tbl_isempty(done.keys) then
    vim.on_key(nil, namespace)
    return
  end
  table.remove(done.typed) -- the key that ends recording
  local as_typed = table.concat(done.typed)
  for index, keys in pairs(done.keys) do
    done.typed[index] = keys
  end
  -- The register is written after this event: before the next key, or in the next loop.
  fix = function()
    fix = nil
    vim.on_key(nil, namespace)
    local now = vim.fn.getreg(name:lower(), 1)
    if as_typed == contents and vim.endswith(now, contents) then
      local before = now:sub(1, #now - #contents)
      vim.fn.setreg(name:lower(), before .. table.concat(done.typed), 'c')
    end
  end
  vim.schedule(function()
    if fix then
      fix()
    end
  end)
end

return M
