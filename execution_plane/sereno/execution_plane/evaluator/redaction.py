"""Redaction: personal data and secrets give way to placeholders before anything is sent to a remote model.

It errs on the side of hiding: what looks like a telephone number is hidden, and comes back in the evidence.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

Kind = str
_CARD_DIGITS = range(12, 20)
_IBAN_LENGTHS = range(15, 35)
_TELEPHONE_DIGITS = range(7, 16)  # ITU-T E.164


class Pattern(NamedTuple):
    """What a kind of data looks like, and the check that tells it from look-alikes.

    `hints` are texts (case folded) without one of which, and `digits` how many without which, it cannot stand there: most
    texts need no closer look.
    """

    kind: Kind
    expression: re.Pattern[str]
    accepts: Callable[[str], bool] = lambda _: True
    hints: tuple[str, ...] = ()
    digits: int = 0


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def luhn(text: str) -> bool:
    """Whether the digits pass the check of payment cards (ISO/IEC 7812-1, annex B)."""
    digits = [int(digit) for digit in reversed(_digits(text))]
    if len(digits) not in _CARD_DIGITS:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616, ISO 7064 MOD 97-10)."""
    plain = re.sub(r"\s", "", text).upper()
    if len(plain) not in _IBAN_LENGTHS:
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def spanish_identity(text: str) -> bool:
    """Whether the letter of a DNI or NIE is that of its number (Real Decreto 1553/2005; modulus 23)."""
    plain = re.sub(r"[\s.-]", "", text).upper()
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == plain[-1]


def chinese_identity(text: str) -> bool:
    """Whether the check character of a resident identity number is right (GB 11643-1999, ISO 7064 MOD 11-2)."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(text[:17], weights, strict=True))
    return "10X98765432"[total % 11] == text[17].upper()


def _telephone(text: str) -> bool:
    return len(_digits(text)) in _TELEPHONE_DIGITS


_SAID_BEFORE = (
    r"password|passwd|passphrase|pwd|secret|api[ _-]?key|access[ _-]?token|auth[ _-]?token|token|credential|"
    r"contraseña|contrasena|clave|secreto|密码|口令|密钥|令牌"
)
# A character of the part of an address before the @ (RFC 5322, 3.2.3, and letters of any script).
_LOCAL = r"[\w.!#$%&'*+/=?^`{|}~-]"
PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "SECRET",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        hints=("-----begin",),
    ),
    Pattern("SECRET", re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"), hints=(".eyj",)),
    Pattern(
        "SECRET",
        re.compile(
            r"(?<![A-Za-z0-9])(?:sk-(?:ant-|proj-)?|[sr]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|srn_|"
            r"whsec_|npm_|hf_|AIza|ya29\.)[\w-]{12,}"
        ),
        hints=(
            *(
                "sk-",
                "sk_",
                "rk_",
                "ghp_",
                "gho_",
                "ghu_",
                "ghs_",
                "ghr_",
                "github_pat_",
                "glpat-",
                "xox",
                "srn_",
            ),
            *("whsec_", "npm_", "hf_", "aiza", "ya29."),
        ),
    ),
    Pattern(
        "SECRET",
        re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        hints=("akia", "asia"),
    ),
    Pattern("SECRET", re.compile(r"(?i)(?<![A-Za-z0-9])bearer\s+[\w.~+/-]{16,}=*"), hints=("bearer",)),
    Pattern("SECRET", re.compile(r"(?<=://)[^\s/:@\"]+:[^\s/@\"]+(?=@)"), hints=("://",)),
    Pattern(
        "SECRET",
        # After a name and its separator; a whole value in quotes, or up to a blank.
        re.compile(
            rf"(?i)(?:(?<![A-Za-z0-9])(?:{_SAID_BEFORE})(?:\\?[\"'])?\s*(?:[:=：]|is|es|是|为)\s*)"
            r"(?P<value>\\?\"[^\"\\]{4,}|'[^']{4,}'|[^\s\"',;，。；]{4,})"
        ),
        hints=(
            *("pass", "pwd", "secret", "api", "token", "credential"),
            *("contraseña", "contrasena", "clave", "密码", "口令", "密钥", "令牌"),
        ),
    ),
    Pattern("EMAIL", re.compile(rf"(?<!{_LOCAL}){_LOCAL}++@(?:[\w-]+\.)+[^\W\d_]{{2,}}"), hints=("@",)),
    Pattern(
        "EMAIL",
        re.compile(
            r"(?i)\b[\w.+-]+\s*[\[(]\s*(?:at|arroba)\s*[\])]\s*[\w-]+(?:\s*[\[(]?\s*(?:dot|punto|\.)\s*[\])]?\s*[\w-]+)+"
        ),
        hints=("(", "["),
    ),
    Pattern(
        "IBAN", re.compile(r"[A-Z]{2}(?<![A-Za-z0-9]..)\d{2}(?: ?[A-Z0-9]{2,4}){3,8}(?![A-Za-z0-9])"), iban
    ),
)
# The numbers: each has at least seven digits with at most two separators between, so only what is around such a
# cluster is looked at; the margin holds what may stand before and after, and the characters beside it.
_CLUSTER = re.compile(r"\d(?:[ ./()-]{0,2}\d){6,}")
_MARGIN = 8
NUMBERS: tuple[Pattern, ...] = (
    Pattern("ID", re.compile(r"(?<!\d)\d{17}[\dXx](?![\dXx])"), chinese_identity, digits=17),
    Pattern(
        "ID",
        re.compile(
            r"(?i)(?<![A-Za-z0-9_])(?:[XYZ][ .-]?\d{7}|\d{2}\.?\d{3}\.?\d{3})[ .-]?[A-Z](?![A-Za-z0-9_])"
        ),
        spanish_identity,
    ),
    Pattern("ID", re.compile(r"(?<!\d)(?!000|666|9\d\d)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?!\d)")),
    Pattern("CARD", re.compile(r"(?<!\d)\d(?:[ -]?\d){11,18}(?!\d)"), luhn, digits=12),
    Pattern(
        "PHONE",
        re.compile(r"(?<![A-Za-z0-9_.])(?:\+|00)\d{1,3}(?:[ ./()-]{0,2}\d){6,13}(?!\d)"),
        _telephone,
        hints=("+", "00"),
    ),
    Pattern(
        "PHONE",
        re.compile(r"(?<![A-Za-z0-9_.-])\(\d{2,5}\)[ -]?\d(?:[ .-]?\d){5,9}(?!\d)"),
        _telephone,
        hints=("(",),
    ),
    Pattern("PHONE", re.compile(r"(?<![A-Za-z0-9_.+-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)"), digits=11),
    Pattern("PHONE", re.compile(r"(?<![A-Za-z0-9_.+-])[6789]\d{2}(?:[ .-]?\d{3}){2}(?!\d)")),
    Pattern("PHONE", re.compile(r"(?<![A-Za-z0-9_.+-])[6789]\d{2}(?:[ .-]?\d{2}){3}(?!\d)")),
    Pattern("PHONE", re.compile(r"(?<![A-Za-z0-9_.+-])\d{3}[ .-]\d{3}[ .-]\d{4}(?!\d)")),
    Pattern("PHONE", re.compile(r"(?<![A-Za-z0-9_.+-])0\d{2,3}[ -]\d{7,8}(?!\d)")),
)


@dataclass(slots=True)
class Redaction:
    """The placeholders of one call: equal values have equal ones, and each can be put back."""

    values: dict[str, str] = field(default_factory=dict)
    _placeholders: dict[str, str] = field(default_factory=dict)
    _counts: dict[Kind, int] = field(default_factory=dict)

    def hide(self, text: str) -> str:
        """The text with placeholders, `[KIND_N]`, where personal data and secrets stood."""
        return self.hide_all([text])[0]

    def hide_all(self, texts: Sequence[str]) -> list[str]:
        """Each text with placeholders; what stands in none of them is looked for once."""
        folded = [text.casefold() for text in texts]
        together = "\n".join(folded)
        possible = [one for one in PATTERNS if _hinted(one, together)]
        return [self._hide(text, own, possible) for text, own in zip(texts, folded, strict=True)]

    def _hide(self, text: str, folded: str, possible: Sequence[Pattern]) -> str:
        for pattern in possible:
            if _hinted(pattern, folded):
                text = pattern.expression.sub(partial(self._hidden, pattern, text), text)
        return "".join(self._numbers(text))

    def _numbers(self, text: str) -> Iterator[str]:
        done = 0
        for start, end in _around_clusters(text):
            part = text[start:end]
            digits = sum(map(str.isdigit, part))
            for pattern in NUMBERS:
                if digits >= pattern.digits and _hinted(pattern, part):
                    part = pattern.expression.sub(partial(self._hidden, pattern, text), part)
            yield text[done:start]
            yield part
            done = end
        yield text[done:]

    def restore(self, text: str) -> str:
        """The text as it was written, placeholders put back."""
        return re.sub(r"\[[A-Z]+_\d+\]", lambda found: self.values.get(found.group(), found.group()), text)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many different values of each kind were hidden."""
        return dict(self._counts)

    def _hidden(self, pattern: Pattern, text: str, found: re.Match[str]) -> str:
        group = "value" if "value" in pattern.expression.groupindex else 0
        value = found.group(group)
        bare = value.strip("\\\"'")
        if not pattern.accepts(value) or (bare.startswith("[") and bare in self.values):
            return found.group()
        return found.group().replace(bare, self._placeholder(pattern.kind, bare, text))

    def _placeholder(self, kind: Kind, value: str, text: str) -> str:
        if value not in self._placeholders:
            number = self._counts.get(kind, 0) + 1
            # What an outsider wrote to look like a placeholder must not be taken for one.
            while (name := f"[{kind}_{number}]") in text and name not in self.values:
                number += 1
            self._counts[kind] = number
            self._placeholders[value] = name
            self.values[name] = value
        return self._placeholders[value]


def _hinted(pattern: Pattern, folded: str) -> bool:
    if not pattern.hints:
        return True
    for hint in pattern.hints:  # noqa: SIM110 - asked for every text and pattern
        if hint in folded:
            return True
    return False


def _around_clusters(text: str) -> Iterator[tuple[int, int]]:
    """Where numbers may stand, with a margin; what touches is one."""
    start, end = 0, 0
    for found in _CLUSTER.finditer(text):
        first, last = max(0, found.start() - _MARGIN), found.end() + _MARGIN
        if end and first <= end:
            end = last
            continue
        if end:
            yield start, end
        start, end = first, last
    if end:
        yield start, end
