"""The API keeps to its own document, whatever a fuzzer makes of it.

    schemathesis --config-file tests/proxy/routes/schemathesis.toml run http://127.0.0.1:8420/openapi.json

does the same without bounds, against a running Turnfold.

Lives here: the fuzzer on a real server, bounded. Does not belong here: cases by hand (``test_api``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.proxy.harness import api_server

CONFIG = Path(__file__).with_name("schemathesis.toml")


def test_the_fuzzer_finds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]  # it has no __main__
    options = ["--max-examples", "4", "--generation-deterministic", "--workers", "1", "--no-color"]
    with api_server("memory://") as origin:
        arguments = [*command, "--config-file", str(CONFIG), "run", f"{origin}/openapi.json", *options]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14/14" in done.stdout
