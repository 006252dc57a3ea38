"""Lua scripts that run inside the server: each is one step, of which nobody sees a part.

Which keys they are given is up to ``keys``, and when they run to ``store``.

All keys of one call share a hash tag in a cluster. If one of Turnfold's keys holds another type, or a count is no number, it is
damaged: the scripts remove it and write on.
"""

from __future__ import annotations

from typing import Final

# KEYS: four an item (item, zset of its kind, zset of its conversation, zset of zsets).
# ARGV: "" or "absent" or the SHA-1 of what the first key must hold; now; then five an item (value, milliseconds to live,
# member, expiry, whether it has a conversation).
SAVE: Final = """
local function clear(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
if ARGV[1] ~= '' then
  clear(KEYS[1], 'string')
  local held = redis.call('GET', KEYS[1])
  if ARGV[1] == 'absent' then
    if held then return 0 end
  elseif not held or redis.sha1hex(held) ~= ARGV[1] then
    return 0
  end
end
local function index(key, expiry, member, life)
  clear(key, 'zset')
  redis.call('ZADD', key, 'GT', expiry, member)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', ARGV[2])
  if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
end
for i = 0, #KEYS / 4 - 1 do
  local k, a = 4 * i, 5 * i + 2
  local life, expiry = ARGV[a + 2], ARGV[a + 4]
  redis.call('SET', KEYS[k + 1], ARGV[a + 1], 'PX', life)
  index(KEYS[k + 2], expiry, ARGV[a + 3], life)
  index(KEYS[k + 4], expiry, KEYS[k + 2], life)
  if ARGV[a + 5] == '1' then
    index(KEYS[k + 3], expiry, ARGV[a + 3], life)
    index(KEYS[k + 4], expiry, KEYS[k + 3], life)
  end
end
return 1
"""

# KEYS: the batch, then logs and tables. ARGV: milliseconds to live for the batch's name; then for each key "l" or "n",
# milliseconds to live, how many values, the values. A script that fails half-way leaves what it wrote, and a batch that is marked
# is not taken again: so what its user may do is asked first (Redis 7, Valkey 8), and only what is damaged is replaced.
RECORD: Final = """
local asked = redis.acl_check_cmd and {
  {'TYPE'}, {'UNLINK'}, {'PTTL'}, {'RPUSH', '1'}, {'PEXPIRE', '1'}, {'HINCRBY', '1', '1'}, {'HSET', '1', '1'}
} or {}
for k = 2, #KEYS do
  for _, one in ipairs(asked) do
    if not redis.acl_check_cmd(one[1], KEYS[k], unpack(one, 2)) then
      return redis.error_reply("NOPERM this user has no permissions to run '" .. one[1]:lower() .. "' on Turnfold's keys")
    end
  end
end
if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return {} end
local a, damaged = 2, {}
for k = 2, #KEYS do
  local kind, life, n = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
  a = a + 3
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= (kind == 'l' and 'list' or 'hash') then
    redis.call('UNLINK', KEYS[k])
    table.insert(damaged, KEYS[k])
  end
  if kind == 'l' then
    for i = a, a + n - 1 do redis.call('RPUSH', KEYS[k], ARGV[i]) end
  else
    for i = a, a + n - 1, 2 do
      local sum = redis.pcall('HINCRBY', KEYS[k], ARGV[i], ARGV[i + 1])
      if type(sum) == 'table' and not (sum.err:find('not an integer') or sum.err:find('overflow')) then return sum end
      if type(sum) == 'table' then
        redis.call('HSET', KEYS[k], ARGV[i], ARGV[i + 1])
        table.insert(damaged, KEYS[k])
      end
    end
  end
  a = a + n
  if redis.call('PTTL', KEYS[k]) < tonumber(life) then redis.call('PEXPIRE', KEYS[k], life) end
end
return damaged
"""

# KEYS: a log. ARGV: the lines to delete. Every line is taken from the left, and what stays is put back at the right: this keeps
# the order and the time to live.
ERASE: Final = """
local going, life = {}, redis.call('PTTL', KEYS[1])
for i = 1, #ARGV do going[ARGV[i]] = true end
local left, gone = redis.call('LLEN', KEYS[1]), 0
while left > 0 do
  local page = redis.call('LPOP', KEYS[1], math.min(left, 1000))
  local stays = {}
  for i = 1, #page do
    if going[page[i]] then gone = gone + 1 else stays[#stays + 1] = page[i] end
  end
  if #stays > 0 then redis.call('RPUSH', KEYS[1], unpack(stays)) end
  left = left - #page
end
if life > 0 then redis.call('PEXPIRE', KEYS[1], life) end
return gone
"""

# KEYS: a table. ARGV: pairs of a field and the one that it is added to. What is no number is damaged and goes. A full server
# refuses to add, except in a script that has written before: so it begins by deleting a field that there never is.
MERGE: Final = """
redis.call('HDEL', KEYS[1], '')
for i = 1, #ARGV, 2 do
  local value = redis.call('HGET', KEYS[1], ARGV[i])
  if value and value:match('^-?%d+$') then
    local sum = redis.pcall('HINCRBY', KEYS[1], ARGV[i + 1], value)
    if type(sum) == 'table' and not (sum.err:find('not an integer') or sum.err:find('overflow')) then return sum end
    if type(sum) == 'table' then redis.call('HSET', KEYS[1], ARGV[i + 1], value) end
  end
  if value then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return 1
"""

# KEYS: items. Which of them exist.
PRESENT: Final = """
local found = {}
for i = 1, #KEYS do found[i] = redis.call('EXISTS', KEYS[i]) end
return found
"""

# KEYS: two an item (item, zset of its kind). ARGV: the members. How many items there were.
DISCARD: Final = """
local gone = 0
for i = 1, #ARGV do
  gone = gone + redis.call('UNLINK', KEYS[2 * i - 1])
  redis.pcall('ZREM', KEYS[2 * i], ARGV[i])
end
return gone
"""
