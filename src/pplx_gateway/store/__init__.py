"""What outlives a request: SQLite on one thread (docs/architecture.md says why)."""

from pplx_gateway.store.arriving import Arriving, Details, StoredFile
from pplx_gateway.store.database import Database
from pplx_gateway.store.facts import Fact, Facts
from pplx_gateway.store.files import Files
from pplx_gateway.store.leases import Leases
from pplx_gateway.store.ownership import Ownership
from pplx_gateway.store.responses import Responses
from pplx_gateway.store.threads import Threads

__all__ = [
    "Arriving",
    "Database",
    "Details",
    "Fact",
    "Facts",
    "Files",
    "Leases",
    "Ownership",
    "Responses",
    "StoredFile",
    "Threads",
]
