"""Definitions in languages whose functions end with a keyword, and in what is no program: SQL, style sheets, build files.

These tests show where each definition begins and ends, and that a request finds it. They leave out which of several forms of a
definition is quoted (``test_named_code``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import every
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.code_definitions import definitions
from turnfold.compression.text.dialogue.wanted.code_parts import named_parts

#: By language: a name, its definition, and what stands behind that.
_CODE: Final = {
    "lua": (
        "moor_boat",
        "local function moor_boat(boat)\n  if boat.deep then\n    return 7\n  end\n  return 4\nend\n",
        "local x = 1\n",
    ),
    "lua method": ("moor_boat", "function Harbour:moor_boat(boat)\n  self.boats[1] = boat\nend\n", "return Harbour\n"),
    "elixir": ("moor_boat", "  @doc false\n  defp moor_boat(boat, state) do\n    %{state | berth: boat}\n  end\n", "end\n"),
    "sql of postgres": (
        "moor_boat",
        "CREATE OR REPLACE FUNCTION harbour.moor_boat(b integer) RETURNS integer AS $$\nDECLARE\n  v integer := 7;\nBEGIN\n"
        "  UPDATE berths SET boat = b;\n  RETURN v;\nEND;\n$$ LANGUAGE plpgsql;\n",
        "SELECT 1;\n",
    ),
    "sql of others": (
        "moor_boat",
        "create procedure moor_boat(in b int)\nbegin\n  update berths set boat = b;\n  call log_boat(b);\nend //\n",
        "create index x on y(z);\n",
    ),
    "table": ("berth_plan", "CREATE TABLE IF NOT EXISTS `berth_plan` (\n  id int,\n  pier text\n);", "\nSELECT 1;\n"),
    "style sheet": (
        "berth-card",
        ".berth-card > li {\n  margin: 7px;\n\n  &__pier {\n    width: 3px;\n  }\n}\n",
        "p { top: 0; }\n",
    ),
    "terraform": ("berth_logs", 'resource "aws_s3_bucket" "berth_logs" {\n  bucket = "logs"\n}\n', 'variable "x" {\n}\n'),
    "makefile": ("moor-boats", "moor-boats: build $(SRC)\n\t@echo 7\n\t./moor --all\n", "build:\n\tmake x\n"),
    "dockerfile": (
        "berth-base",
        "FROM python:3.12 AS berth-base\nRUN apt-get update\nCOPY . /app\n\n",
        "FROM berth-base AS last\n",
    ),
    "perl": ("moor_boat", "sub moor_boat {\n    my $boat = shift;\n    return 7;\n}\n", "1;\n"),
    "export": ("moorBoat", "module.exports.moorBoat = async function (boat) {\n  return 7;\n};\n", "x();\n"),
    "handler": (
        "moorBoat",
        "  const moorBoat = useCallback(async (boat) => {\n    setBerth(7);\n  }, []);\n",
        "  return <div />;\n",
    ),
    "r": ("moor_boat", "moor_boat <- function(boat) {\n  boat + 7\n}\n", "print(1)\n"),
}


@each("language", _CODE)
def test_where_a_definition_ends(language: str) -> None:
    name, code, behind = _CODE[language]
    text = f"x\n\n{code}{behind}"
    assert [text[slice(*one.place)] for one in definitions(text) if one.name == name] == [code]


@each("language", every(2, [*_CODE]))
def test_it_is_there_whole_where_a_request_names_it(language: str) -> None:
    name, code, _ = _CODE[language]
    filling = "\n\n".join(
        f"def survey_{n}(pier):\n    row = load(pier, {n * 7 + 3})\n    return row.depth * {n + 2}" for n in range(25)
    )
    said: list[Message] = [{"role": "user", "content": f"My project:\n\nsrc/a.py\n{filling}\n\n{code}\n\nsrc/b.py\n{filling}"}]
    for n in range(40):
        said += [{"role": "assistant", "content": prose(500 + n, "en", 6)}, {"role": "user", "content": prose(n, "en", 3)}]
    said.append({"role": "assistant", "content": "Yes."})
    assert code.strip() in forwarded(said, f"Explain {name} to me.")


def test_names_with_hyphens_and_signs() -> None:
    assert {"berth-card", "moor-boats", "berth"} <= named_parts("why is .berth-card wider than `moor-boats` and #berth ?").names
    assert named_parts("see a/moor-boats").names == frozenset()
