"""What leaves for a remote model, and what comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.evaluator.redaction import Redaction


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to ana.lopez+x@example.org today", "EMAIL"),
        ("escribe a josé@correo.example.es", "EMAIL"),
        ("邮箱：wang.wei@example.com.cn", "EMAIL"),
        ("ana [at] example [dot] org", "EMAIL"),
        ("call +34 612 345 678", "PHONE"),
        ("llama al 612345678", "PHONE"),
        ("teléfono 91 123 45 67 o 912 34 56 78", "PHONE"),
        ("电话 138 1234 5678", "PHONE"),
        ("手机13812345678", "PHONE"),
        ("call (212) 555-0147", "PHONE"),
        ("212-555-0147", "PHONE"),
        ("0044 20 7946 0958", "PHONE"),
        ("card 4111 1111 1111 1111", "CARD"),
        ("5500-0055-5555-5559", "CARD"),
        ("IBAN ES91 2100 0418 4502 0005 1332", "IBAN"),
        ("GB82WEST12345698765432", "IBAN"),
        ("DNI 12345678Z", "ID"),
        ("NIE X-1234567-L", "ID"),
        ("SSN 123-45-6789", "ID"),
        ("身份证 11010519491231002X", "ID"),
        ("key sk-abcdefghijklmnop1234", "SECRET"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "SECRET"),
        ("AKIAIOSFODNN7EXAMPLE", "SECRET"),
        ("Authorization: Bearer abcdefghijklmnop.qrst", "SECRET"),
        ("postgresql://u:hunter22@db/x", "SECRET"),
        ("password: correct-horse", "SECRET"),
        ('{"password": "correct horse"}', "SECRET"),
        ("la contraseña es gatito99", "SECRET"),
        ("密码：mima12345", "SECRET"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "SECRET"),
        ("srn_0123456789abcdef", "SECRET"),
        ("新的是Bearer abcdefghijklmnop.qrst", "SECRET"),
        ("账号ES91 2100 0418 4502 0005 1332", "IBAN"),
    ],
)
def test_what_is_personal_or_secret_is_hidden_and_comes_back(text: str, kind: str) -> None:
    redaction = Redaction()
    hidden = redaction.hide(text)
    assert f"[{kind}_1]" in hidden
    assert all(value not in hidden for value in redaction.values.values())
    assert redaction.restore(hidden) == text


@pytest.mark.parametrize(
    "text",
    [
        "order 1234567 shipped",
        "version 1.2.3",
        "2026-11-30T10:00:00Z",
        "the invoice is late",
        "card 4111 1111 1111 1112",
        "the password policy changed",
    ],
)
def test_what_is_neither_stays(text: str) -> None:
    assert Redaction().hide(text) == text


def test_one_value_has_one_placeholder() -> None:
    redaction = Redaction()
    assert redaction.hide("a@b.example, c@d.example, a@b.example") == "[EMAIL_1], [EMAIL_2], [EMAIL_1]"
    assert redaction.counts == {"EMAIL": 2}


def test_a_placeholder_of_an_outsider_is_not_taken_for_one_of_ours() -> None:
    redaction = Redaction()
    hidden = redaction.hide("[EMAIL_1] wrote to a@b.example")
    assert redaction.restore(hidden) == "[EMAIL_1] wrote to a@b.example"


@given(st.text(max_size=200))
def test_whatever_is_hidden_comes_back(text: str) -> None:
    redaction = Redaction()
    assert redaction.restore(redaction.hide(text)) == text
