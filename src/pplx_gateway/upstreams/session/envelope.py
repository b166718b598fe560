"""The fields around an answer, put together over its frames: the latest value that is not null holds (2.3)."""

from pplx_gateway.upstreams.session.frames import Frame

COMPLETED, FAILED, BLOCKED, PENDING = "COMPLETED", "FAILED", "BLOCKED", "PENDING"
_KNOWN = frozenset({COMPLETED, FAILED, BLOCKED})


class Envelope:
    """`status` is one of COMPLETED, FAILED, BLOCKED; PENDING for whatever else was said; None while nothing was."""

    def __init__(self) -> None:
        self.status: str | None = None
        self.backend_uuid: str | None = None
        self.context_uuid: str | None = None
        self.read_write_token: str | None = None
        self.slug: str | None = None
        self.experience: str | None = None
        self.error_code: str | None = None
        self.error_message: str | None = None

    def merge(self, frame: Frame) -> None:
        if frame.status is not None:
            status = frame.status.upper()
            self.status = status if status in _KNOWN else PENDING
        self.backend_uuid = frame.backend_uuid or self.backend_uuid
        self.context_uuid = frame.context_uuid or self.context_uuid
        self.read_write_token = frame.read_write_token or self.read_write_token
        self.slug = frame.thread_url_slug or self.slug
        self.experience = frame.experience or self.experience
        self.error_code = frame.error_code or self.error_code
        self.error_message = frame.error_message or self.error_message

    @property
    def place(self) -> str | None:
        """What names the thread when it is to be read again."""
        return self.slug or self.backend_uuid
