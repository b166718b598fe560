-- Uploaded files. A row is room that is taken: `size` counts from the moment of the reservation, and `kept` turns to 1
-- once all bytes are on the disk. The bytes lie beside the store in `files/`, under the id.
create table files (
  number integer primary key autoincrement,
  id text not null unique,
  caller text not null,
  size integer not null,
  kept integer not null default 0,
  filename text not null default '',
  kind text not null default '',
  purpose text not null default '',
  created_at integer not null,
  expires_at integer
) strict;

create index files_by_caller on files (caller, number);
