"""The agent of the demonstration: any command line will do, this one reads a message and answers in JSON.

It gets the message on stdin and, in an otherwise empty environment, a bearer that is good for its own lease only.
"""

import json
import os
import sys
import urllib.request


def may_still_act(token: int) -> str:
    """What the mailbox says of this lease now; an effect outside would be done after `ok` only."""
    request = urllib.request.Request(  # noqa: S310 - the address of the mailbox, given by the worker
        f"{os.environ['SERENO_URL']}/v1/leases/check",
        json.dumps({"items": [{"token": token}]}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['SERENO_TOKEN']}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=5) as answer:
        return str(json.load(answer)["items"][0]["status"])


def main() -> None:
    """Answer one message."""
    message = json.load(sys.stdin)
    token = int(message["lease"]["token"])
    events = [envelope["type"] for envelope in message["envelopes"]]
    result = {"did": message["instruction"], "about": events, "token": token, "check": may_still_act(token)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
