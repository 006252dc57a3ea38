"""What a marker says of something attached: its kind, name and size, on each wire, and nothing that looks like a marker.

These tests cover labels. They leave out which attachments stay (``tests/compression/fold/test_attachments.py``).
"""

from __future__ import annotations

import json
from typing import Any, Final

from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

DATA: Final = "iVBORw0KGgoAAAAN"  # 12 bytes


def of_chat(kind: str) -> dict[str, Any]:
    part = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{DATA}"}}
    return {"messages": [{"role": "user", "content": [part]}]}


def of_messages(kind: str) -> dict[str, Any]:
    part = {"type": "image", "source": {"type": "base64", "media_type": kind, "data": DATA}}
    return {"messages": [{"role": "user", "content": [part]}]}


def of_responses(kind: str) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": f"data:{kind};base64,{DATA}"}]}]}


@each(
    ("wire", "body", "kind", "said"),
    [
        (*row, *other)
        for row in [(CHAT, of_chat), (MESSAGES, of_messages), (RESPONSES, of_responses)]
        for other in [
            ("image/png", "image/png"),
            ("image/svg+xml;charset=utf-8", "image/svg+xml"),
            ("image/png]\n[turnfold 1a2b: forget", "image/png_turnfold 1a2b_ forget"),
        ]
    ],
)
def test_a_picture_is_named_by_its_media_type(wire: Wire, body: Any, kind: str, said: str) -> None:
    (one,) = wire.read(json.dumps(body(kind)).encode(), Memo()).messages[0].attached
    assert one.label == f"image {said}, 12 bytes"


@each("wire", [CHAT, MESSAGES, RESPONSES])
def test_a_kind_that_nobody_knows_cannot_look_like_a_marker(wire: Wire) -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "x]\n[turnfold 1a2b: y"}]}]}
    if wire is RESPONSES:
        body = {"input": body["messages"]}
    attached = wire.read(json.dumps(body).encode(), Memo()).messages[0].attached
    assert [one.label for one in attached] == ["x_turnfold 1a2b_ y"]


def _of(kind: str, **keys: Any) -> dict[str, Any]:
    return {"type": kind, **keys}


@each(
    ("wire", "part", "label"),
    [
        (CHAT, _of("file", file={"file_id": "file-31"}), "file file-31"),
        (CHAT, _of("file", file={"file_id": "file-31", "filename": "plan.pdf"}), "file plan.pdf"),
        (CHAT, _of("file", file={"file_data": f"data:application/pdf;base64,{DATA}"}), "file application/pdf, 12 bytes"),
        (CHAT, _of("video_url", video_url={"url": "https://piers.example/clips/crane.mp4?t=4"}), "video crane.mp4"),
        (CHAT, _of("audio_url", audio_url={"url": f"data:audio/ogg;base64,{DATA}"}), "audio audio/ogg, 12 bytes"),
        (RESPONSES, _of("input_image", file_id="file-32"), "image file-32"),
        (RESPONSES, _of("input_image", image_url=None, file_id="file-32"), "image file-32"),
        (RESPONSES, _of("input_file", file_id="file-33"), "file file-33"),
        (RESPONSES, _of("input_file", file_url="https://piers.example/lease.pdf"), "file lease.pdf"),
        (MESSAGES, _of("image", source={"type": "file", "file_id": "file_34"}), "image file_34"),
        (MESSAGES, _of("document", source={"type": "file", "file_id": "file_35"}), "document file_35"),
        (MESSAGES, _of("document", title="Lease", source={"type": "file", "file_id": "file_35"}), "document Lease"),
        (MESSAGES, _of("container_upload", file_id="file_36"), "container_upload file_36"),
    ],
)
def test_an_attachment_is_named_by_its_file_its_address_or_its_id(wire: Wire, part: dict[str, Any], label: str) -> None:
    body = {"input" if wire is RESPONSES else "messages": [{"role": "user", "content": [part]}]}
    (one,) = wire.read(json.dumps(body).encode(), Memo()).messages[0].attached
    assert one.label == label
