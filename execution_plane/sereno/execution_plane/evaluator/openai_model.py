"""The model behind Chat Completions, of whoever speaks them."""

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from sereno.execution_plane.evaluator.declared import DeclaredEvaluator


def model(evaluator: DeclaredEvaluator, key: str, http: httpx2.AsyncClient) -> Model:
    """The model as declared. Retries are the evaluation's own: they are counted and bounded there."""
    url = str(evaluator.url).rstrip("/") if evaluator.url else None
    client = AsyncOpenAI(api_key=key, base_url=url, http_client=http, max_retries=0)
    return OpenAIChatModel(evaluator.model, provider=OpenAIProvider(openai_client=client))
