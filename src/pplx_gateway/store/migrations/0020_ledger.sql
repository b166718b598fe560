-- One row for each request that was let in; nothing of what was asked or answered. `at` is when it began, in seconds since the
-- epoch; `cost` counts trillionths of a US dollar, null = not known.
create table ledger (
  number integer primary key autoincrement,
  id text not null,
  at real not null,
  caller text not null,
  caller_name text,
  face text not null,
  operation text not null,
  asked text,
  served text,
  upstream text,
  key_name text,
  input_tokens integer not null,
  output_tokens integer not null,
  cached_tokens integer not null,
  reasoning_tokens integer not null,
  estimated integer not null,
  searches integer not null,
  pro_searches integer not null,
  cost integer,
  cost_source text not null,
  milliseconds integer not null,
  first_text_milliseconds integer,
  status integer not null,
  error text,
  dropped text not null
) strict;

create index ledger_by_time on ledger (at);
create index ledger_by_caller on ledger (caller, at);
create index ledger_errors on ledger (number) where error is not null;

-- What each caller has spent on each day (UTC), for budgets: it stays when the rows above are gone.
create table spending (
  caller text not null,
  day text not null,
  cost integer not null,
  primary key (caller, day)
) strict, without rowid;
