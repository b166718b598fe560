-- When a response ended, in seconds since the epoch: those that fail tell no time themselves.
alter table responses add column ended_at integer;

create index responses_by_caller on responses (caller, number);
