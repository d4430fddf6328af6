"""What `sereno up` starts for each process: `serve` alone, so that no process loads the other plane."""

import sys

from sereno.deploy.command_line import new_app, run
from sereno.deploy.commands import serve


def main() -> None:
    """Run `serve PROCESS` and exit."""
    app = new_app()
    serve.register(app)
    sys.exit(run(app))


if __name__ == "__main__":
    main()
