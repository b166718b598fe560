"""The models that the web page knows: `models_config.json`, served as it is, and what follows from it."""

from importlib.resources import files
from typing import Literal

import msgspec

from pplx_gateway.emulator.session.account import Account, Tier
from pplx_gateway.emulator.session.frames import Json

# Ids for which the picker has no row (docs/wire-session.md 1.4).
_UNPICKED: dict[str, Tier] = {
    "turbo": "free",
    "default": "free",
    "pplx_reasoning": "pro",
    "pplx_pro_upgraded": "pro",
    "pplx_alpha": "pro",
    "pplx_beta": "pro",
    "pplx_study": "pro",
    "pplx_agentic_research": "max",
}
_QUICK = frozenset({"turbo", "default", "pplx_pro"})
_CHOOSERS = frozenset({"pplx_pro"})  # free when concise, a Pro search when copilot


class Choice(msgspec.Struct, frozen=True):
    """A row of the picker."""

    subscription_tier: Tier | None
    non_reasoning_model: str | None
    reasoning_model: str | None


class Config(msgspec.Struct, frozen=True):
    models: dict[str, Json]
    config: list[Choice]


Fit = Literal["fits", "unknown", "wrong_mode", "above_tier"]


class Models:
    """`dead` ids fail as unknown ones do; `added` ones exist beside those of the file (both for discovery)."""

    def __init__(self, config: bytes) -> None:
        self.document: Json = msgspec.json.decode(config)
        choices = msgspec.json.decode(config, type=Config).config
        self._tiers: dict[str, Tier] = dict(_UNPICKED)
        self._thinking: set[str] = {"pplx_reasoning", "pplx_alpha", "pplx_beta"}
        for choice in choices:
            self._pick(choice)
        self.dead: set[str] = set()
        self.added: dict[str, Tier] = {}

    @classmethod
    def built_in(cls) -> "Models":
        return cls(files("pplx_gateway.emulator.session").joinpath("models_config.json").read_bytes())

    def _pick(self, choice: Choice) -> None:
        for model in (choice.non_reasoning_model, choice.reasoning_model):
            if model is not None:
                self._tiers[model] = choice.subscription_tier or "free"
        if choice.reasoning_model is not None:
            self._thinking.add(choice.reasoning_model)

    def fit(self, mode: str, model: str, account: Account) -> Fit:
        """Whether `account` may ask `model` in `mode`."""
        tier = None if model in self.dead else self.added.get(model, self._tiers.get(model))
        if tier is None:
            return "unknown"
        if mode == "concise":
            return "fits" if model in _QUICK else "wrong_mode"
        if mode != "copilot" or model in _QUICK - _CHOOSERS:
            return "wrong_mode"
        needed: Tier = "pro" if model in _CHOOSERS else tier
        return "fits" if account.allows(needed) else "above_tier"

    def thinks(self, model: str) -> bool:
        return model in self._thinking or model.endswith(("thinking", "_thinking"))

    def another(self, model: str) -> str:
        """A model that answers in place of `model` where the upstream substitutes."""
        return "grok45low" if model != "grok45low" else "gpt5_mini"
