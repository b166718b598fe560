-- A handle that a kept response has left goes with it, however it goes.
alter table threads add column response text;
create index threads_by_response on threads (response) where response is not null;

create trigger threads_go_with_their_response after delete on responses begin
  delete from threads where response = old.id;
end;
