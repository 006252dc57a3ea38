"""The receipt of calls that no client's request has on its own.

All such receipts have the form that is defined here. What a call cost is up to ``books``.
"""

from __future__ import annotations

import secrets
import time

from turnfold.proxy.asking.asker import Bill
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.receipts import Receipt, Recorder, Usage


def record_own_calls(recorder: Recorder, payer: Payer, model: str, reason: str, bill: Bill, seconds: float) -> None:
    """Record model calls that belong to no request; nothing if nothing was paid.

    Args:
        model: that of the conversation, or the one that was asked.
        reason: what it was for, and how it ended, as a slug.
        seconds: how long it took.
    """
    if not bill.calls:
        return
    recorder.record(
        Receipt(
            request_id=f"tf-own-{secrets.token_hex(10)}",
            at=time.time(),
            tenant=payer.tenant,
            model=model,
            conversation=payer.conversation,
            status="own",
            reason=reason,
            tokens_before=0,
            tokens_after=0,
            usage=Usage(),
            upstream_status=None,
            overhead_ms=0.0,
            first_byte_ms=None,
            total_ms=1000 * seconds,
            streamed=False,
            complete=True,
            calls=tuple(bill.calls),
        ),
        (),
    )
