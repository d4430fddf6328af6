"""Evaluators as they are declared in the configuration: where a model answers, what it costs, and whether data leaves."""

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, TypeAdapter, ValidationError, model_validator

EXAMPLE = (
    "set SERENO_EVALUATORS to a JSON list such as "
    '[{"name": "own", "model": "qwen3:8b", "url": "http://127.0.0.1:11434/v1", "egress": "local"}]'
)
Egress = Literal["local", "remote"]
Provider = Literal["openai", "anthropic"]


class DeclaredEvaluator(BaseModel):
    """One evaluator: `openai` is every endpoint that speaks Chat Completions (Ollama and vLLM too)."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    provider: Provider = "openai"
    model: Annotated[str, Field(min_length=1, max_length=200)]
    url: HttpUrl | None = Field(None, description="base URL; the provider's own when left out")
    egress: Egress = Field(description="local: the data stays on machines of yours; remote: it leaves them")
    key: str | None = Field(None, pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+)$")
    timeout: float = Field(30, gt=0, le=600, description="seconds for a whole call")
    max_items: int = Field(50, ge=1, le=200, description="novelties in one call")
    max_output_tokens: int = Field(4096, ge=64, le=65536)
    input_price: Decimal = Field(Decimal(0), ge=0, description="per million tokens, in `currency`")
    output_price: Decimal = Field(Decimal(0), ge=0, description="per million tokens, in `currency`")
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.provider == "openai" and self.url is None and self.egress == "local":
            raise ValueError("url: expected the address of the local endpoint")
        return self

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """What a call cost, in `currency`."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / Decimal(1_000_000)

    def credential(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """The key in clear, for the client alone.

        Raises:
            LookupError: the reference leads nowhere; the message names it, never a value.

        """
        if self.key is None:
            return None
        kind, _, place = self.key.partition(":")
        if kind == "env":
            if place not in environment:
                raise LookupError(f"evaluator {self.name}: the environment variable {place} is not set")
            return environment[place]
        try:
            return Path(place).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise LookupError(f"evaluator {self.name}: {place}: {error.strerror}") from error


def parse(written: Any) -> tuple[DeclaredEvaluator, ...]:
    """The evaluators of a configuration, in the order of preference.

    Raises:
        ValueError: what is wrong, with the place.

    """
    try:
        found = TypeAdapter(tuple[DeclaredEvaluator, ...]).validate_python(written)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"evaluators.{place}: {first['msg']}") from None
    names = [evaluator.name for evaluator in found]
    if len(set(names)) != len(names):
        raise ValueError(f"evaluators: the name {max(names, key=names.count)} is given twice")
    return found
