"""The setting of folded prose, and the file of its lexicon."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnfold.compression.options import Prose
from turnfold.config.fold import fold_options
from turnfold.config.settings import FoldingSettings, Settings
from turnfold.config.sources import SettingsError

LEXICON = '[[rule]]\nstage = "fillers"\ndrop = ["as everybody here knows"]\n'


def test_prose_is_left_alone_by_default() -> None:
    assert fold_options(Settings(), "gpt-4o").prose == Prose("off")


def test_a_lexicon_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(LEXICON)
    settings = Settings(folding=FoldingSettings(prose="full", prose_lexicon=file))
    assert fold_options(settings, "gpt-4o").prose == Prose("full", LEXICON)


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "cannot be read"), ("[[rule]", "is not TOML"), ("[x]", "is no field"), ("rule = 5", "must be a list")],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=rf"TURNFOLD_PROSE_LEXICON.*mine\.toml.*{problem}"):
        fold_options(Settings(folding=FoldingSettings(prose="full", prose_lexicon=file)), "gpt-4o")
