-- Thought signatures of function calls, for the next turns of callers whose protocol has no place for them; each with
-- the name of the key that it was made with. `size` counts characters.
create table signatures (
  number integer primary key autoincrement,
  caller text not null,
  call_id text not null,
  key_name text not null,
  signature text not null,
  size integer not null,
  written_at real not null,
  unique (caller, call_id)
) strict;

create index signatures_by_caller on signatures (caller, number);
create index signatures_by_size on signatures (number, size);
create index signatures_by_age on signatures (written_at);
