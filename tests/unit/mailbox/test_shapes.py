"""What a worker may hand in as a result."""

import pytest
from pydantic import ValidationError

from sereno.mailbox.http.shapes import MAX_RESULT_BYTES, AckBodyItem

LINES = "\n" * MAX_RESULT_BYTES


@pytest.mark.parametrize("text", [LINES, '"' * MAX_RESULT_BYTES, "é" * (MAX_RESULT_BYTES // 2)])
def test_64_kib_of_text_are_64_kib_whatever_json_escapes(text: str) -> None:
    assert AckBodyItem(token=1, result=text).result == text


@pytest.mark.parametrize("result", [LINES + "a", "é" * MAX_RESULT_BYTES, ["a" * MAX_RESULT_BYTES]])
def test_more_is_refused(result: object) -> None:
    with pytest.raises(ValidationError, match="expected at most 65536 bytes"):
        AckBodyItem(token=1, result=result)
