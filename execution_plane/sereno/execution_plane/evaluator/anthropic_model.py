"""The model behind Messages of Anthropic."""

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from sereno.execution_plane.evaluator.declared import DeclaredEvaluator


def model(evaluator: DeclaredEvaluator, key: str, http: httpx2.AsyncClient) -> Model:
    """The model as declared. Retries are the evaluation's own: they are counted and bounded there."""
    url = str(evaluator.url).rstrip("/") if evaluator.url else None
    client = AsyncAnthropic(api_key=key, base_url=url, http_client=http, max_retries=0)
    return AnthropicModel(evaluator.model, provider=AnthropicProvider(anthropic_client=client))
