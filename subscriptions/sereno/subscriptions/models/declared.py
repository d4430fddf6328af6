"""The base of every declared model: closed, frozen, and complete in what it reports."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

# (path below the model, what is wrong)
Objection = tuple[tuple[str, ...], str]


class Declared(BaseModel):
    """A declared model whose rules about present fields are data and are reported with all its other faults."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, populate_by_name=True, serialize_by_alias=True
    )

    # Exactly one of these fields is given.
    exactly_one: ClassVar[tuple[str, ...]] = ()
    # A field that is given needs, or refuses, these others.
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    refuses: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @model_validator(mode="wrap")
    @classmethod
    def _report_all(cls, raw: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Pydantic skips a model's own rules when a field is wrong; people want to hear of both at once."""
        objections = list(cls._objections(raw)) if isinstance(raw, Mapping) else []
        try:
            built = handler(raw)
        except ValidationError as fault:
            if not objections:
                raise
            raise _joined(cls.__name__, fault, objections) from None
        if objections:
            raise _joined(cls.__name__, None, objections)
        return built

    @classmethod
    def _objections(cls, raw: Mapping[str, Any]) -> Iterator[Objection]:
        given = {name for name, value in raw.items() if value not in (None, [], ())}
        if cls.exactly_one:
            chosen = [name for name in cls.exactly_one if name in given]
            if len(chosen) != 1:
                found = f"found {' and '.join(chosen)}" if chosen else "found none"
                yield (), f"expected exactly one of {', '.join(cls.exactly_one)}; {found}"
        for name, others in cls.needs.items():
            for other in others:
                if name in given and other not in given:
                    yield (other,), f"required beside {name}"
        for name, others in cls.refuses.items():
            for other in others:
                if name in given and other in given:
                    yield (other,), f"not allowed beside {name}"


def _joined(title: str, fault: ValidationError | None, objections: list[Objection]) -> ValidationError:
    lines: list[InitErrorDetails] = [
        {
            "type": PydanticCustomError(error["type"], _plain(error["msg"]), error.get("ctx")),
            "loc": error["loc"],
            "input": None,
        }
        for error in (fault.errors(include_url=False, include_input=False) if fault else ())
    ]
    lines += [
        {"type": PydanticCustomError("rule", _plain(message)), "loc": path, "input": None}
        for path, message in objections
    ]
    return ValidationError.from_exception_data(title, lines, hide_input=True)


def _plain(message: str) -> Any:
    # The parameter's type is LiteralString; the message is finished, no brace in it names a member of the context.
    return message
