-- Keys that the owner gave to callers. `digest` is the SHA-256 of the key, which itself is kept nowhere; `limits` is JSON.
-- `changed` is higher with each change of any key, so that a worker sees that another one changed some.
create table caller_keys (
  id text primary key,
  name text not null,
  digest blob not null unique,
  hint text not null,
  limits blob not null,
  created_at real not null,
  expires_at real,
  revoked_at real,
  last_used_at real,
  changed integer not null
) strict, without rowid;

create unique index caller_keys_by_name on caller_keys (name) where revoked_at is null;
create index caller_keys_by_change on caller_keys (changed);

-- Requests of a key within the `seconds` since `began`.
create table caller_counts (
  caller text not null,
  seconds integer not null,
  began real not null,
  count integer not null,
  primary key (caller, seconds)
) strict, without rowid;
