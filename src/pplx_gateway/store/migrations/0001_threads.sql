-- One row a fact about this installation; `secret` keys the HMACs of threads.
create table facts (
  name text primary key,
  value blob not null
) strict;

-- Handles of the session upstream's conversations, found by an HMAC over caller, model and turns.
create table threads (
  key blob primary key,
  value blob not null,
  written_at real not null
) strict, without rowid;

create index threads_by_age on threads (written_at);
