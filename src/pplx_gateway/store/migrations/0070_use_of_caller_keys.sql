-- Where a key is presented: in a header, or in the path of MCP's addresses and nowhere else. Keys of before are of the
-- first kind.
alter table caller_keys add column use text not null default 'header';
