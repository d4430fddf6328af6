import base64

from sereno.deploy.scram import verifier


def test_the_verifier_of_the_example_in_rfc_7677() -> None:
    # User "user", password "pencil", 4096 iterations. The RFC gives ServerSignature over the keys below.
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    kind, parameters, keys = verifier("pencil", salt).split("$")
    assert (kind, parameters) == ("SCRAM-SHA-256", "4096:W22ZaJ0SNY7soEsUEjb6gQ==")
    assert keys == "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
