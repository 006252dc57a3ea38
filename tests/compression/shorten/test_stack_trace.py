"""Stack traces: which lines go together."""

from __future__ import annotations

from turnfold.compression.shorten.kinds.stack_trace import rows

FRAMES = """\
stack backtrace:
   0: quay::open_gate
   1: quay::main
             at ./src/main.rs:4:5
   2: std::rt::lang_start
note: Some details are omitted."""


def test_a_frame_goes_with_its_place_and_with_no_other_frame() -> None:
    assert [row.text for row in rows(FRAMES)] == [
        "stack backtrace:",
        "   0: quay::open_gate",
        "   1: quay::main\n             at ./src/main.rs:4:5",
        "   2: std::rt::lang_start",
        "note: Some details are omitted.",
    ]
