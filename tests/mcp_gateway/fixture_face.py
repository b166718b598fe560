"""The tools, prompts and resources that the conformance suite looks for, on the gateway's own transport."""

from collections.abc import Mapping
from typing import Any

from pplx_agent_mcp import INVALID_PARAMS, Fields, RpcError, Tool

from pplx_gateway.protocols.mcp.runs import Asker

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE: Fields = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
EMBEDDED: Fields = {
    "type": "resource",
    "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "An embedded resource."},
}
CONTENTS: Mapping[str, list[Fields]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [{"type": "text", "text": "Several kinds:"}, IMAGE, EMBEDDED],
    "test_error_handling": [{"type": "text", "text": "This tool intentionally returns an error for testing"}],
    "test_tool_with_progress": [{"type": "text", "text": "Done."}],
}
RESOURCES: Mapping[str, Fields] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
}
TEMPLATE = "test://template/{id}/data"
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


class FixtureFace:
    tools = tuple(Tool(name, name, "For tests.", {}, {"readOnlyHint": True}) for name in CONTENTS)

    async def call(self, name: str, arguments: Fields, asker: Asker) -> Fields:
        if name == "test_tool_with_progress":
            for progress in (0.0, 50.0, 100.0):
                await asker.report(progress, f"{progress:.0f} of 100")
        return {"content": CONTENTS[name], "isError": name == "test_error_handling"}

    async def perform(self, method: str, params: Fields, asker: Asker) -> Fields:
        match method:
            case "resources/list":
                return {"resources": [{"uri": uri, "name": uri, **_kind(found)} for uri, found in RESOURCES.items()]}
            case "resources/templates/list":
                return {"resourceTemplates": [{"uriTemplate": TEMPLATE, "name": "template"}]}
            case "resources/read":
                return {"contents": [_resource(params["uri"])], "ttlMs": 0, "cacheScope": "private"}
            case "prompts/list":
                return {"prompts": [_prompt(name) for name in PROMPTS]}
            case _:
                return {"messages": _messages(params["name"], params.get("arguments") or {})}


def _kind(resource: Fields) -> Fields:
    return {"mimeType": resource["mimeType"]}


def _resource(uri: str) -> Fields:
    before, _, after = TEMPLATE.partition("{id}")
    if uri.startswith(before) and uri.endswith(after):
        number = uri.removeprefix(before).removesuffix(after)
        return {"uri": uri, "mimeType": "application/json", "text": f'{{"id":"{number}"}}'}
    if uri not in RESOURCES:
        raise RpcError(INVALID_PARAMS, "Unknown resource.", {"uri": uri})
    return {"uri": uri, **RESOURCES[uri]}


def _prompt(name: str) -> Fields:
    arguments = [{"name": argument, "required": True} for argument in PROMPTS[name]]
    return {"name": name, "description": "For tests.", "arguments": arguments}


def _messages(name: str, arguments: Mapping[str, Any]) -> list[Fields]:
    told: Fields = {"type": "text", "text": f"This is a simple prompt for testing. {dict(arguments)}"}
    embedded = {**EMBEDDED, "resource": {**EMBEDDED["resource"], "uri": arguments.get("resourceUri", "")}}
    more = {"test_prompt_with_embedded_resource": [embedded], "test_prompt_with_image": [IMAGE]}.get(name, [])
    return [{"role": "user", "content": content} for content in (*more, told)]
