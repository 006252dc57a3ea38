"""schemathesis on a Turnfold with every route open, in front of an upstream that answers.

    python -m tests.proxy.routes.fuzz [examples for each call]

It starts both and runs the program; ``test_api_schema`` says what is expected of it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import uvicorn

from tests.proxy.harness import NO_LOGGING, UpstreamServer, api_server, running
from turnfold.config.settings import AuthSettings

CONFIG: Final = Path(__file__).with_name("schemathesis.toml")
_PATIENCE: Final = 3600


def fuzz(examples: int, directory: Path, *phases: str) -> subprocess.CompletedProcess[str]:
    """One run; its files go into `directory`.

    Args:
        phases: of schemathesis; none: all of them.
    """
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]  # it has no __main__
    options = ["--max-examples", str(examples), "--generation-deterministic", "--workers", "1", "--no-color"]
    options += ["--exclude-checks", "ignored_auth"]  # the token below is in every request; test_api_document leaves it out
    options += ["--phases", ",".join(phases)] if phases else []
    auth = AuthSettings.model_validate({"admin_token": "adm"})
    with (
        running(uvicorn.Config(UpstreamServer(), **NO_LOGGING)) as upstream,
        api_server("memory://", f"{upstream.origin}/v1", auth=auth) as origin,
    ):
        token = ["-H", "x-turnfold-admin-token: adm"]
        arguments = [*command, "--config-file", str(CONFIG), "run", f"{origin}/openapi.json", *token, *options]
        return subprocess.run(  # noqa: S603 - a program of ours, on a server of ours
            arguments, cwd=directory, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )


def main() -> int:
    """The long run."""
    with tempfile.TemporaryDirectory() as directory:
        done = fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 100, Path(directory))
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
