-- For what waits: runs in the background whose cost is not known yet.
create index owned_by_purpose on owned (kind, purpose, made_at);
