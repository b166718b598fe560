-- What all workers have counted together. `series` is a JSON list: the metric, its labels, and for histograms the bucket.
create table counters (
  series text primary key,
  value real not null,
  first_at real not null,
  last_at real not null
) strict, without rowid;

-- What each worker sees of itself at the moment; one that has not written for a while is gone.
create table worker_gauges (
  worker text primary key,
  at real not null,
  gauges text not null
) strict, without rowid;
