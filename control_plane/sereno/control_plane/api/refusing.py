"""Refusals and faults of the catalog as problem details."""

from collections.abc import Sequence

from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.refusal import Refusal
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.faults import Faults

# What is not here is a conflict with the state of the catalog.
_STATUS = {"not_found": 404, "reason_required": 422, "forbidden": 403, "rejected": 403}
_CODE = {"reason_required": "bad_input"}


def bad_documents(faults: Faults) -> Problem:
    """All that is wrong with the documents, at once."""
    listed = [{"path": fault.path, "message": fault.message, "line": fault.line} for fault in faults]
    detail = "; ".join(str(fault) for fault in faults)
    return Problem(422, "bad_input", detail, faults=listed)


def refused(refusals: Sequence[Refusal]) -> Problem:
    """All that stands against a command; status and code are those of the first."""
    first = refusals[0]
    listed = [
        {"code": refusal.code, "message": refusal.message, "current_version": refusal.current_version}
        for refusal in refusals
    ]
    detail = "; ".join(refusal.message for refusal in refusals)
    told = {
        "current_version": first.current_version,
        "rule": first.rule,
        "policy_version": first.policy_version,
    }
    more = {name: value for name, value in told.items() if value is not None}
    return Problem(
        _STATUS.get(first.code, 409), _CODE.get(first.code, first.code), detail, refusals=listed, **more
    )


def unknown(address: Address) -> Problem:
    """Nothing was ever declared there."""
    return Problem(404, "not_found", f"{address} does not exist")
