-- A fact's version grows with each change, so that a worker sees that another one changed it.
alter table facts add column version integer not null default 1;

-- Work that one worker does for all: whoever holds the lease until `until` (seconds of the machine's uptime).
create table leases (
  name text primary key,
  holder text not null,
  until real not null
) strict;
