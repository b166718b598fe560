-- What was left of the plan at each reading of it; null = not told. `at` is in seconds since the epoch.
create table quota_readings (
  at real primary key,
  pro integer,
  research integer
) strict, without rowid;
