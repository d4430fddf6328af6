"""The native CEL evaluator, loaded with the first expression.

Its package imports a terminal program with it, which would cost each process of Sereno a quarter of a second.
"""

from functools import cache
from importlib import import_module
from typing import Any


@cache
def native() -> Any:
    """The module `cel` of the package common-expression-language."""
    return import_module("cel")
