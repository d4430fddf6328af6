"""One call of a model: no tools, a schema for the answer, bounded in time and size; what fails is told as a kind."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import Any, NamedTuple

import httpx2
from opentelemetry.trace import SpanKind
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from sereno.execution_plane.evaluator.declared import DeclaredEvaluator
from sereno.execution_plane.evaluator.prompt import Prompt
from sereno.execution_plane.guards.judgement import ErrorKind, EvaluationError
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing

MAX_ANSWER_BYTES = 1 << 20
"""More than this is not read: an answer of the largest call is a tenth of it."""


# The clients of the providers stumble, with these, over an answer that is JSON and not of their protocol.
_STUMBLES = (AttributeError, IndexError, KeyError, TypeError, ValueError)

_STATUSES: Mapping[int, ErrorKind] = {401: "auth", 403: "auth", 402: "budget"}


class Called(NamedTuple):
    """What a model answered, and what it took: tokens in, tokens out."""

    text: str
    input_tokens: int
    output_tokens: int


class TooLongError(Exception):
    """An answer beyond `MAX_ANSWER_BYTES`."""


_FAILURES = (
    TimeoutError,
    TooLongError,
    exceptions.ModelAPIError,
    exceptions.UnexpectedModelBehavior,
    *_STUMBLES,
)


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > MAX_ANSWER_BYTES:
                raise TooLongError
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # A compressed answer can be small on the wire and huge in memory.
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Counted(response.stream)
        return response


class ModelCaller:
    """Asks one declared evaluator; open it with `opened`."""

    def __init__(self, evaluator: DeclaredEvaluator, model: Model) -> None:
        self.evaluator = evaluator
        self._model = model

    async def call(self, prompt: Prompt, schema: dict[str, Any]) -> Called | EvaluationError:
        """The model's answer, or the kind of failure; never a text that the model's side wrote."""
        about = {
            names.GEN_AI_OPERATION: "chat",
            names.GEN_AI_PROVIDER: self.evaluator.provider,
            names.GEN_AI_MODEL: self.evaluator.model,
            names.EVALUATOR: self.evaluator.name,
        }
        name = f"{names.CHAT} {self.evaluator.model}"
        with tracing.span(name, tracing.caller(), kind=SpanKind.CLIENT, attributes=about) as span:
            called = await self._called(prompt, schema)
            if isinstance(called, EvaluationError):
                span.error = called.kind
            else:
                span.attributes[names.GEN_AI_INPUT] = called.input_tokens
                span.attributes[names.GEN_AI_OUTPUT] = called.output_tokens
        return called

    async def _called(self, prompt: Prompt, schema: dict[str, Any]) -> Called | EvaluationError:
        try:
            async with asyncio.timeout(self.evaluator.timeout):
                response = await model_request(
                    self._model,
                    [ModelRequest.user_text_prompt(prompt.items, instructions=prompt.task)],
                    model_settings=ModelSettings(temperature=0, max_tokens=self.evaluator.max_output_tokens),
                    model_request_parameters=ModelRequestParameters(
                        output_mode="native",
                        output_object=OutputObjectDefinition(json_schema=schema, name="verdict", strict=True),
                        allow_text_output=True,
                    ),
                )
        except _FAILURES as error:
            return _failure(error)
        return _answer(response)


def _failure(error: Exception) -> EvaluationError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TooLongError):
            return EvaluationError("truncated", f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TimeoutError | exceptions.ModelTimeoutError):
        return EvaluationError("timeout", "the model did not answer in time")
    if isinstance(error, exceptions.ModelHTTPError):
        kind = _STATUSES.get(error.status_code, "unavailable")
        return EvaluationError(kind, f"the model's side answered {error.status_code}")
    if isinstance(error, exceptions.ModelAPIError) and "decode" not in str(error):
        return EvaluationError("unavailable", "the model could not be reached")
    return EvaluationError("bad_json", "the model's side answered what its protocol does not know")


def _answer(response: ModelResponse) -> Called | EvaluationError:
    usage = response.usage
    if response.finish_reason == "content_filter":
        return EvaluationError("refusal", "the model refused")
    if response.finish_reason == "length":
        return EvaluationError("truncated", "the answer was cut off at the most tokens allowed")
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if not text.strip():
        return EvaluationError("bad_json", "the answer is empty")
    return Called(text, usage.input_tokens, usage.output_tokens)


@asynccontextmanager
async def opened(evaluator: DeclaredEvaluator, key: str | None) -> AsyncIterator[ModelCaller]:
    """A caller for this evaluator, with its own connections; proxies of the environment are not used."""
    async with httpx2.AsyncClient(
        transport=_BoundedTransport(), timeout=evaluator.timeout, trust_env=False, follow_redirects=False
    ) as client:
        yield ModelCaller(evaluator, _model(evaluator, key, client))


@asynccontextmanager
async def opened_all(
    evaluators: Iterable[DeclaredEvaluator], keys: Mapping[str, str | None]
) -> AsyncIterator[dict[str, ModelCaller]]:
    """A caller for each evaluator, by its name, with its key."""
    async with AsyncExitStack() as stack:
        yield {
            one.name: await stack.enter_async_context(opened(one, keys.get(one.name))) for one in evaluators
        }


def _model(evaluator: DeclaredEvaluator, key: str | None, client: httpx2.AsyncClient) -> Model:
    # Each provider's own client is slow to import, and most installations use one.
    module = import_module(f"{__package__}.{evaluator.provider}_model")
    model: Model = module.model(evaluator, key or "none", client)
    return model
