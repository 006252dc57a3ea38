"""One log line for each request.

This module turns a receipt, or a request that passed through, into a line. The format of lines is in ``log_lines``; why an
upstream failed is logged by whoever called it, under the same id.

A line has ids, sizes, times and names of models, never text or a key. The model's name and the path come from clients, so
control characters in them are replaced and their length is bounded.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from turnfold.proxy.chat.receipts import Originals, Receipt, Recorder
from turnfold.proxy.console.log_lines import REQUESTS
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.outbound.passthrough import PassedRequest

_LONGEST: Final = 80

_log = logging.getLogger(REQUESTS)


def printable(text: str) -> str:
    """A name from a client, harmless in a terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text[:_LONGEST])


class RequestLog:
    """A recorder that logs each receipt and hands it on."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def record(self, receipt: Receipt, sections: Originals) -> None:
        """Log the request, and hand its receipt on."""
        self._recorder.record(receipt, sections)
        if _log.isEnabledFor(logging.INFO):
            fields = _fields(receipt)
            _log.info("%s", _line(fields), extra={"fields": fields})


def _fields(receipt: Receipt) -> dict[str, Any]:
    return {
        "request_id": receipt.request_id,
        "wire": receipt.wire,
        "model": printable(receipt.model),
        "status": receipt.status,
        "reason": printable(receipt.reason),
        "tokens_before": receipt.tokens_before,
        "tokens_after": receipt.tokens_after,
        "upstream_status": receipt.upstream_status,
        "ms": round(receipt.total_ms, 1),
        "overhead_ms": round(receipt.overhead_ms, 1),
        "complete": receipt.complete,
        **({"refused": True} if receipt.refused else {}),
    }


def _line(fields: dict[str, Any]) -> str:
    before, after = fields["tokens_before"], fields["tokens_after"]
    share = f" ({after / before - 1:+.0%})" if before and after != before else ""
    tokens = f"{before:,} -> {after:,} tokens{share}" if before else "not counted"
    said = f"{fields['status']}{' (' + fields['reason'] + ')' if fields['reason'] else ''}"
    answer = fields["upstream_status"]
    how = " (an error)" if "refused" in fields else "" if fields["complete"] else " (cut short)"
    came = "no answer" if answer is None else f"upstream {answer}{how}"
    model = fields["model"] or "(no model)"
    return f"{fields['request_id']} {fields['wire']} {model}: {said}, {tokens}, {came}, {fields['ms']:,.0f} ms"


def log_passed(passed: PassedRequest, ms: float) -> None:
    """Log a request that was passed through unread."""
    if not _log.isEnabledFor(logging.INFO):
        return
    fields = {
        "request_id": passed.id,
        "method": printable(passed.method),
        "path": printable(passed.path),
        "status": "passed",
        "upstream_status": passed.status,
        "ms": round(ms, 1),
    }
    unanswered = "the client left" if passed.left else "no answer"
    came = unanswered if passed.status is None else f"upstream {passed.status}"
    line = f"{passed.id} {fields['method']} {fields['path']}: passed through, {came}, {ms:,.0f} ms"
    _log.info("%s", line, extra={"fields": fields})


def log_refused(request_id: str, wire: str, refused: Refused, ms: float) -> None:
    """Log a request for a model that Turnfold refused before it was read."""
    fields = {"request_id": request_id, "wire": wire, "status": "refused", "code": refused.code, "ms": round(ms, 1)}
    line = f"{request_id} {wire}: refused with {refused.status} ({refused.code}), {ms:,.0f} ms"
    _log.info("%s", line, extra={"fields": {**fields, "http_status": refused.status}})


def log_refused_head(path: str, refused: Refused) -> None:
    """Log a request that Turnfold refused for its headers or its path."""
    fields = {"path": printable(path), "status": "refused", "code": refused.code, "http_status": refused.status}
    about = f", {printable(refused.param)}" if refused.param else ""
    _log.info("%s", f"{fields['path']}: refused with {refused.status} ({refused.code}{about})", extra={"fields": fields})
