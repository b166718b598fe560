"""AsyncCurl with a calmer watchdog."""

import asyncio

from curl_cffi import AsyncCurl
from curl_cffi.aio import CURL_POLL_NONE, CURL_SOCKET_TIMEOUT

WATCH_EVERY_S = 1.0


class CalmCurl(AsyncCurl):
    """The library looks for missed time-outs ten times a second, which keeps an idle process awake, and does not
    collect the transfers that end by it. Here it is once a second, and they are collected. Should the library drop or
    rename its method, its own way holds again."""

    async def _force_timeout(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            self.process_data(CURL_SOCKET_TIMEOUT, CURL_POLL_NONE)
