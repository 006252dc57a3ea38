"""A text is written as JSON as the standard library writes it, lone surrogates apart."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.wire.edits import json_string

_CHARACTERS = st.characters() | st.sampled_from('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028\ud800\udfff')


@given(st.text(_CHARACTERS))
def test_a_string_is_what_the_standard_library_writes(text: str) -> None:
    expected = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in json.dumps(text, ensure_ascii=False))
    assert json_string(text) == expected
    assert json.loads(json_string(text)) == text or "\ud800" in text
