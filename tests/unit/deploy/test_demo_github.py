from sereno.deploy.demo.github import issue, signature


def test_the_signature_of_githubs_own_example() -> None:
    # docs.github.com, "Validating webhook deliveries": testing the validation.
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature(b"Hello, World!", "It's a Secret to Everybody") == expected


def test_the_same_delivery_is_the_same_bytes() -> None:
    first, second = (
        issue(7, "t", action="opened", delivery="d", at="2026-01-01T00:00:00Z") for _ in range(2)
    )
    assert first == second
