-- Answers that callers may read again, follow and build upon. `parent` is the previous_response_id as it was sent, `object`
-- the response as it was last shown.
create table responses (
  number integer primary key autoincrement,
  id text not null unique,
  caller text not null,
  parent text,
  status text not null,
  background integer not null,
  created_at integer not null,
  object blob not null
) strict;

create index responses_by_age on responses (created_at);

-- A response's own input items, and after them its output items.
create table response_items (
  response integer not null references responses (number) on delete cascade,
  place integer not null,
  output integer not null,
  id text not null,
  data blob not null
) strict;

create unique index response_items_in_order on response_items (response, place);
create index response_items_by_id on response_items (id);

-- What was streamed, so that a follower can be told again.
create table response_events (
  response integer not null references responses (number) on delete cascade,
  number integer not null,
  type text not null,
  data blob not null
) strict;

create unique index response_events_in_order on response_events (response, number);

-- A row for each response that is not over, held by one worker until `until` (seconds of the machine's uptime). Whoever removes the
-- row decides how the response ends, and nobody without the row writes to it. `ending` = it was taken to be cancelled or
-- deleted, so that no two do that. `plan` is what another worker needs to go on
-- with the upstream's run `run_id`.
create table response_runs (
  response integer primary key references responses (number) on delete cascade,
  holder text not null,
  until real not null,
  ending integer not null default 0,
  upstream text,
  run_id text,
  plan blob
) strict;

create index response_runs_by_holder on response_runs (holder);
create index response_runs_by_end on response_runs (until);

-- One response for each Idempotency-Key; `body` is a digest of the request.
create table response_keys (
  caller text not null,
  key text not null,
  body blob not null,
  response integer not null references responses (number) on delete cascade,
  primary key (caller, key)
) strict, without rowid;

create index response_keys_by_response on response_keys (response);

-- How many bytes all this takes, about: what was written, and what rows and indexes cost beside it.
create table response_room (
  used integer not null
) strict;

insert into response_room (used) values (0);

create trigger response_added after insert on responses begin
  update response_room set used = used + length(new.object) + 500;
end;

create trigger response_changed after update of object on responses begin
  update response_room set used = used + length(new.object) - length(old.object);
end;

create trigger response_removed after delete on responses begin
  update response_room set used = used - length(old.object) - 500;
end;

create trigger response_item_added after insert on response_items begin
  update response_room set used = used + length(new.data) + 200;
end;

create trigger response_item_removed after delete on response_items begin
  update response_room set used = used - length(old.data) - 200;
end;

create trigger response_event_added after insert on response_events begin
  update response_room set used = used + length(new.data) + 100;
end;

create trigger response_event_removed after delete on response_events begin
  update response_room set used = used - length(old.data) - 100;
end;
