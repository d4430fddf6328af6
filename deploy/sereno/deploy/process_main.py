"""What `sereno up` starts for each process: `serve` alone, so that no process loads the other plane."""

import sys
from collections.abc import Sequence

from sereno.deploy.command_line import new_app, run
from sereno.deploy.commands import serve

GO = serve.GO


def main(words: Sequence[str] | None = None) -> int:
    """Run `serve PROCESS`; its exit code."""
    app = new_app()
    serve.register(app)
    return run(app, words)


if __name__ == "__main__":
    sys.exit(main())
