"""What holds for every test: how hard Hypothesis tries, that log handlers stay open, that nothing is left behind.

It sets Hypothesis' profiles, the guards, the number of test processes and their order. Fixtures that one folder needs are in that
folder.

The profile is `HYPOTHESIS_PROFILE`, or `--hypothesis-profile`; by default `ci` where `CI` is set, else `quick`. None has a time
limit for an example: such a limit says how busy the machine is. A test with costly examples takes its settings from
`tests.support.effort`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.effort import USUAL
from tests.support.known_texts import remember_texts
from tests.support.known_tokens import remember_tokens

_ANYWHERE = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

settings.register_profile("quick", _ANYWHERE, max_examples=USUAL)
# The same examples in every run: nobody's change is refused for what another run would not have drawn.
settings.register_profile("ci", _ANYWHERE, max_examples=USUAL, derandomize=True, database=None)
# For trying many changes of the code (benchmarks/mutations.py).
settings.register_profile("small", _ANYWHERE, derandomize=True, database=None, max_examples=10)
settings.register_profile("thorough", _ANYWHERE, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick"))


# Where a container sets it, each process of the tests, and each that they start, would compile every file anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

remember_tokens()
if os.environ.get("HYPOTHESIS_PROFILE") != "small":  # it is recorded there which tests run what
    remember_texts()

_LOADING: Final = frozenset(
    {
        "test_anthropic_sdk.py",
        "test_clients_doc.py",
        "test_elsewhere.py",
        "test_examples.py",
        "test_openai_sdk.py",
        "test_responses_sdk.py",
        "test_sdk_sessions.py",
    }
)

#: In the names of tests or of what they use: four processes each, which wait for seconds until they agree.
_SERVERS: Final = ("cluster", "sentinel", "watched")

gc.disable()  # what is collected stays: looking at it again and again takes a seventh of the time


@pytest.hookimpl(optionalhook=True)  # there are runs without pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than there are cores: waits for time-outs and other processes would leave some of them idle."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return cores + 2


@pytest.hookimpl(trylast=True)  # behind pytest-randomly
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what loads or starts much in front, where one process has it: each of the providers' SDKs takes a second to import."""
    items.sort(key=lambda item: (item.path.name not in _LOADING, not _wants_servers(item)))


def _wants_servers(item: pytest.Item) -> bool:
    return any(name in item.name or name in getattr(item, "fixturenames", ()) for name in _SERVERS)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each worker whether it collects the whole suite."""
    node.workerinput["whole"] = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS


def pytest_configure(config: pytest.Config) -> None:
    """Stop at SIGTERM as at Ctrl-C, fixtures torn down; pytest-xdist ends its workers in order when their parent does so."""
    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # behind Hypothesis' own, before which nothing may be drawn
def pytest_sessionstart(session: pytest.Session) -> None:
    """Import a share of the test modules before all others, in each worker another one.

    pytest rewrites the assertions of a module where no worker has done so yet, which takes twice as long as the rest of the
    collection. Workers that go through the modules in step would each rewrite all of them. A warning at import is still an
    error in the workers that import the module later.
    """
    worker = getattr(session.config, "workerinput", {"workercount": 1})
    if worker.get("workerid", "gw0") == "gw0":
        st.text().validate()  # which signs there are: found once in 1.5 s, and kept in .hypothesis for the other processes too
    if worker["workercount"] == 1 or not worker["whole"]:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    root = session.config.rootpath
    for path in sorted(root.glob("tests/**/test_*.py"))[number :: worker["workercount"]]:
        with contextlib.suppress(Exception):  # the collection shows it, with the module's name
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Leave alone what is there to stay: the collector would look at all modules and tests again and again."""
    gc.freeze()  # without a collection: little of it is garbage, and looking for that takes longer
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


class _Guard(logging.Handler):
    """Says at once who closes the log handlers of the process.

    `logging.config.dictConfig`, which `uvicorn.Config` calls, closes all of them. absl's (rouge-score loads it) then closes its
    stream, unless that is `sys.stderr` at the moment: in a test with `capsys` it is pytest's capture file, and every later
    test of the process fails.
    """

    armed = True

    def close(self) -> None:
        if self.armed:
            raise AssertionError("this closes every log handler of the process; give uvicorn.Config log_config=None")
        super().close()


@pytest.fixture(scope="session", autouse=True)
def log_guard() -> Iterator[logging.Handler]:
    """A log handler that may not be closed before the last test."""
    guard = _Guard()
    yield guard
    guard.armed = False
    guard.close()


@pytest.fixture(scope="session", autouse=True)
def no_leftovers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for temporary files, which is empty again after the last test.

    It lies in pytest's own, of which pytest keeps the last three: a run that is killed leaves nothing for good either.
    """
    folder = tmp_path_factory.mktemp("t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield
    left = sorted(path.name for path in folder.iterdir())
    assert not left, f"the tests left in the folder for temporary files: {left}"
