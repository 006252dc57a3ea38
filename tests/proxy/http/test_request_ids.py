"""Ids of requests: each is given once, by a process and by one that was forked from it."""

from __future__ import annotations

import os
import re

from turnfold.proxy.http.request_ids import new_request_id


def test_each_is_given_once() -> None:
    ids = [new_request_id() for _ in range(1000)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"tf-[0-9a-f]{24}", one) for one in ids)


def test_a_forked_process_draws_its_own() -> None:
    new_request_id()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_request_id().encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as end:
        theirs = end.read().decode()
    os.waitpid(child, 0)
    assert re.fullmatch(r"tf-[0-9a-f]{24}", theirs)
    assert theirs != new_request_id()
