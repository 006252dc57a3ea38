"""A log that nobody reads, or that is closed: the server goes on, and says later how many lines it dropped."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Iterator

import pytest

from turnfold.proxy.console.lines_handler import LinesHandler


@contextlib.contextmanager
def piped() -> Iterator[int]:
    """Standard error is a pipe; its reading end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        with os.fdopen(writer, "w") as stream, contextlib.redirect_stderr(stream):
            yield reader
    finally:
        os.close(reader)


@pytest.fixture
def log() -> logging.Logger:
    found = logging.Logger("turnfold.unread")
    found.addHandler(LinesHandler())
    return found


def test_lines_beyond_a_full_pipe_are_dropped_and_counted(log: logging.Logger) -> None:
    with piped() as pipe:
        for number in range(3000):
            log.info("line %d %s", number, "x" * 100)
        taken = os.read(pipe, 1 << 20).decode().splitlines()
        assert 0 < len(taken) < 3000
        assert taken == [f"line {number} {'x' * 100}" for number in range(len(taken))]
        log.info("read again")
        log.info("and again")
        told = f"log lines dropped because nobody read them: {3000 - len(taken)}"
        assert os.read(pipe, 1 << 20).decode().splitlines() == [told, "read again", "and again"]


def test_a_line_longer_than_a_pipe_holds_does_not_wait(log: logging.Logger) -> None:
    with piped() as pipe:
        log.info("y" * 10**6)
        assert os.read(pipe, 1 << 20)
        log.info("next")
        assert os.read(pipe, 1 << 20).decode().endswith("dropped because nobody read them: 1\nnext\n")


def test_a_pipe_whose_reader_went_away_counts_as_unread(log: logging.Logger) -> None:
    with piped() as pipe:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, pipe)
        log.info("nobody is there")
        os.close(nowhere)
    with contextlib.redirect_stderr(io.StringIO()) as heard:
        log.info("somebody is")
    assert heard.getvalue() == "log lines dropped because nobody read them: 1\nsomebody is\n"


@pytest.mark.parametrize("closed", [False, True])
def test_no_standard_error_is_no_failure(closed: bool, log: logging.Logger) -> None:
    stream = io.StringIO() if closed else None
    if stream is not None:
        stream.close()
    with contextlib.redirect_stderr(stream):
        log.warning("nobody hears that")
    with contextlib.redirect_stderr(io.StringIO()) as heard:
        log.warning("but that")
    assert heard.getvalue().endswith("but that\n")
