"""The id by which others know a run: the API's own, and the name of the key that made it, since no other finds it."""

from typing import NamedTuple

from pplx_gateway.errors import NotFound
from pplx_gateway.upstreams.api.assembly import is_run_id


class Handle(NamedTuple):
    """Its text is `resp_...@name`. A run's own id holds no `@`."""

    run_id: str
    key_name: str

    @classmethod
    def read(cls, text: str) -> "Handle":
        """Raises NotFound for what no run of this upstream is called."""
        run_id, _, key_name = text.partition("@")
        if not (is_run_id(run_id) and key_name):
            raise NotFound("There is no such run.")
        return cls(run_id, key_name)

    def __str__(self) -> str:
        return f"{self.run_id}@{self.key_name}"
