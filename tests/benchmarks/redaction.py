"""Recall of redaction: values planted into sentences of three languages, and how many of them a remote model would see."""

import random
import sys
from collections import Counter

from sereno.execution_plane.evaluator.redaction import Redaction

ROUNDS = 400
SENTENCES = {
    "en": ("Please use {} from now on.", "My new one is {}, thank you.", "({}) is what you asked for"),
    "es": ("Por favor, usen {} a partir de hoy.", "El nuevo es {}, gracias.", "Me pidieron esto: {}."),
    "zh": ("请从今天起使用 {} 。", "新的是{}，谢谢。", "这是你们要的：{}"),
}
SECRETS = ("sk-", "ghp_", "xoxb-", "srn_", "password: ", "token=", "contraseña: ", "密码：", "Bearer ")
PLATES = ("{:04}ABC", "calle Mayor {}", "Ana Pérez {}", "王伟 {}")


def value(kind: str, draw: random.Random) -> str:
    """A made-up value of the kind."""
    digits = "".join(str(draw.randrange(10)) for _ in range(24))
    match kind:
        case "EMAIL":
            return f"{draw.choice(('ana', 'j.smith', 'wang_wei'))}{digits[:3]}@{draw.choice(('example.org', 'correo.es'))}"
        case "PHONE":
            forms = ("+34 6{} {} {}", "+86 138{}{}{}", "(212) {}-{}{}", "6{} {} {}", "138{}{}{}")
            lengths = ((2, 3, 3), (0, 4, 4), (3, 3, 1), (2, 3, 3), (0, 4, 4))
            chosen = draw.randrange(len(forms))
            parts, at = [], 0
            for length in lengths[chosen]:
                parts.append(digits[at : at + length])
                at += length
            return forms[chosen].format(*parts)
        case "CARD":
            body = "4" + digits[:14]
            return body + str(next(n for n in range(10) if _luhn(body + str(n))))
        case "ID":
            number = digits[:8]
            return number + "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]
        case "SECRET":
            return draw.choice(SECRETS) + "".join(draw.choices("abcdefghijkmnpqrstuvwxyz0123456789", k=24))
        case _:
            return draw.choice(PLATES).format(int(digits[:3]))


def _luhn(text: str) -> bool:
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in text[-2::-2]]
    return (sum(int(digit) for digit in text[::-2]) + sum(doubled)) % 10 == 0


def main() -> int:
    """Print the recall of each kind and language; names and addresses stand there to show what no pattern finds."""
    draw = random.Random(7)
    hidden: Counter[tuple[str, str]] = Counter()
    for lang, sentences in SENTENCES.items():
        for kind in ("EMAIL", "PHONE", "CARD", "ID", "SECRET", "none"):
            for _ in range(ROUNDS):
                planted = value(kind, draw)
                shown = Redaction().hide(draw.choice(sentences).format(planted))
                secret = planted.rpartition(" ")[2] if kind == "SECRET" else planted
                hidden[lang, kind] += secret not in shown
    for (lang, kind), count in sorted(hidden.items()):
        what = "names and addresses" if kind == "none" else kind
        sys.stdout.write(f"{lang}: {what}: {count / ROUNDS:.3f} of {ROUNDS} hidden\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
