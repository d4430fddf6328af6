"""What a worker may hand in as a result."""

import pytest
from pydantic import ValidationError

from sereno.mailbox.http.shapes import AckBodyItem
from sereno.mailbox.refusals import MAX_JSON_BYTES

LINES = "\n" * MAX_JSON_BYTES


@pytest.mark.parametrize("text", [LINES, '"' * MAX_JSON_BYTES, "é" * (MAX_JSON_BYTES // 2)])
def test_64_kib_of_text_are_64_kib_whatever_json_escapes(text: str) -> None:
    assert AckBodyItem(token=1, result=text).result == text


@pytest.mark.parametrize("result", [LINES + "a", "é" * MAX_JSON_BYTES, ["a" * MAX_JSON_BYTES]])
def test_more_is_refused(result: object) -> None:
    with pytest.raises(ValidationError, match="expected at most 65536 bytes"):
        AckBodyItem(token=1, result=result)
