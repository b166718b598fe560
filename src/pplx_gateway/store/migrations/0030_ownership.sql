-- What is kept upstream for callers: files, batches, skills, runs and so on. `id` is what the caller knows it by, `upstream_id`
-- what the upstream does; `key_name` is the key that made it, since no other key finds it. `purpose` tells the files of
-- batches apart.
create table owned (
  number integer primary key autoincrement,
  kind text not null,
  id text not null,
  upstream_id text not null,
  key_name text not null,
  caller text not null,
  purpose text not null default '',
  made_at real not null,
  unique (kind, id)
) strict;

create index owned_by_caller on owned (caller, kind, number);
