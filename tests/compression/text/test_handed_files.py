"""Telling the messages by which a client hands over what files hold."""

from __future__ import annotations

from typing import Final

from tests.support.cases import each
from turnfold.compression.text.dialogue.handed_files import hands_over_files

_CODE: Final = "\n".join(f"let berth{n} = rates[{n}]" for n in range(12))
_LOG: Final = "\n".join(f"12:0{n} berth {n} taken" for n in range(9))


@each(
    "text",
    [
        f"Here is the current version of app.ts:\n\n```ts\n{_CODE}\n```",
        f"### src/berth/rates.swift\n```\n{_CODE}\n```\n\n### Package.swift\n```\n{_CODE}\n```",
        f"Trust this.\n```swift:src/rates.swift\n{_CODE}\n```\n",
        f"以下是 rates.swift 的当前内容\n~~~~\n{_CODE}\n~~~~",
        f"Outlines:\n\na.py:\n⋮\n│{_CODE[:200]}\n".replace("\nlet", "\n│let"),
    ],
)
def test_named_files_are_handed_over(text: str) -> None:
    assert hands_over_files(text)


@each(
    "text",
    [
        f"Why is this slow?\n```\n{_CODE}\n```",
        f"The log says:\n```\n{_LOG}\n```\nand version 2.10 does not.",
        f"Please rename berth1 in rates.swift:\n```\nlet berth1\n```\n{'It is used in many places. ' * 9}",
        "See app.ts, line 12.",
        f"<attached>\n```path=src/rates.swift\n{_CODE}\n```\n</attached>\n<user_query>\nRaise them.\n</user_query>",
        f"rates.swift\n{_CODE}",
    ],
)
def test_other_messages_are_not(text: str) -> None:
    assert not hands_over_files(text)
