"""The layers of system C on cases with expected entities: recall, ROUGE-L, ratio, time; per case, and means per set.

    python -m benchmarks.cctx_suite [--data DIR] [--query] [--json FILE]

It measures and prints. Without the published cases (``$EVALUATION_SHARED/data/cctx/datasets``) it uses those of our own
(``benchmarks/cases``).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from turnfold.compression.layers import Compressor, CompressRequest

#: Ratios that the original published for its sets, and its expected-entity recall there.
PUBLISHED = {"conversations": (2.47, 0.58), "documents": (2.73, 0.46), "rag_chunks": (2.39, 0.42)}
HERE = Path(__file__).parent


@dataclass(frozen=True)
class SuiteScore:
    """One case: recall of its expected entities in layer 1 (and how many the source holds at all), and what it cost."""

    set: str
    case: str
    recall: float
    reachable: float
    rouge_l: float
    ratio: float
    ms: float


def datasets(folder: Path | None) -> Path:
    """The folder of cases: the one given, the published ones where they are present, else our own."""
    shared = Path(os.environ.get("EVALUATION_SHARED", HERE.parent.parent / "shared")) / "data" / "cctx" / "datasets"
    return folder or (shared if shared.is_dir() else HERE / "cases")


def rows(folder: Path, *, query: bool) -> Iterator[SuiteScore]:
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - brings NLTK and SciPy: seconds at the start of each test process

    compressor, rouge = Compressor(), RougeScorer(["rougeL"])
    compressor.compress(CompressRequest("Load the vocabulary."))
    for name, (ratio, _) in PUBLISHED.items():
        for case in json.loads((folder / f"{name}.json").read_text()):
            text, wanted = case["context"], case["expected_entities"]
            request = CompressRequest(text, l1_ratio=1 / ratio, query=case["question"] if query else None)
            start = time.perf_counter()
            result = compressor.compress(request)
            ms = (time.perf_counter() - start) * 1e3
            facts = result.layers[1].text
            yield SuiteScore(
                set=name,
                case=case["id"],
                recall=mean(e.lower() in facts.lower() for e in wanted),
                reachable=mean(e.lower() in text.lower() for e in wanted),
                rouge_l=rouge.score(text, facts)["rougeL"].fmeasure,
                ratio=result.metadata.ratio,
                ms=ms,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, help="a folder with conversations.json, documents.json, rag_chunks.json")
    parser.add_argument("--query", action="store_true", help="compress with each case's question in mind")
    parser.add_argument("--json", type=Path, help="write all rows there")
    options = parser.parse_args()
    found = list(rows(datasets(options.data), query=options.query))
    print(f"{'case':<22}{'recall':>8}{'reach':>8}{'rougeL':>8}{'ratio':>8}{'ms':>8}")
    for row in found:
        print(f"{row.case:<22}{row.recall:>8.2f}{row.reachable:>8.2f}{row.rouge_l:>8.2f}{row.ratio:>8.2f}{row.ms:>8.1f}")
    for name, (ratio, recall) in PUBLISHED.items():
        of = [row for row in found if row.set == name]
        took = f"{mean(r.ms for r in of):.1f} ms"
        print(
            f"{name}: {len(of)} cases, recall {mean(r.recall for r in of):.3f} (published {recall}), "
            f"ROUGE-L {mean(r.rouge_l for r in of):.3f}, ratio {mean(r.ratio for r in of):.2f} (published {ratio}), {took}"
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
