"""`GET /admin/settings`: every setting as it is, and where that comes from."""

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.gateway import Gateway
from pplx_gateway.setting_sources import ToldSetting, told_settings
from pplx_gateway.web.admin import json_response


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [Route("/admin/settings", AdminSettings(gateway).get, methods=["GET"])]


class ToldSettings(msgspec.Struct, frozen=True, kw_only=True):
    settings: list[ToldSetting]


class AdminSettings:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, _: Request) -> Response:
        told = await asyncio.to_thread(told_settings, self._gateway.settings)  # it reads files
        return json_response(ToldSettings(settings=told))
