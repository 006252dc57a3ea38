"""How the dashboard writes numbers and ids, run by Node where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources

import pytest

_CALLS = {
    "short(1081200000)": "1,081.2 M",
    "short(460605001)": "460.6 M",
    "short(9999)": "9,999",
    "plural(1, 'request')": "1 request",
    "plural(0, 'request')": "0 requests",
    "plural(1200, 'request')": "1,200 requests",
    "brief('123456789012')": "123456789012",
    "brief('1234567890123')": "1234567890…",
    "brief('123456789🎉123')": "123456789🎉…",
}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_numbers_and_ids() -> None:
    text = (resources.files("turnfold.proxy.dashboard") / "static" / "dom.js").read_text("utf-8")
    source = f"""
        const address = "data:text/javascript," + encodeURIComponent({json.dumps(text)});
        const {{ short, plural, brief }} = await import(address);
        console.log(JSON.stringify([{", ".join(_CALLS)}]));
    """
    done = subprocess.run(["node", "--input-type=module", "-e", source], capture_output=True, check=True)  # noqa: S603, S607 - ours
    assert json.loads(done.stdout) == list(_CALLS.values())
