"""Where Turnfold keeps its files on a machine.

The default places, and ``~`` in a setting. Nothing is created here.

A user may have no home directory: a container can run with any user id.
"""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path, user_state_path

from turnfold.config.sources import SettingsError

_HOMELESS = "this user has no home directory: set HOME"


def default_store_url() -> str:
    """The SQLite file in the user's data directory, as a store URL.

    Raises:
        SettingsError: the user has no home directory.
    """
    try:
        return f"sqlite:///{Path(user_data_path('turnfold', appauthor=False)) / 'turnfold.db'}"
    except RuntimeError as exc:
        raise SettingsError(f"TURNFOLD_STORE_URL: must be set, because {_HOMELESS} or XDG_DATA_HOME instead") from exc


def in_home(path: str, variable: str) -> Path:
    """The path in a setting, with ``~`` expanded.

    Raises:
        SettingsError: there is no such home directory; names the setting.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise SettingsError(f"{variable}: there is no home directory for the '~' in {path}: give the whole path") from exc


def state_directory() -> Path:
    """The user's directory for logs of runs and the key.

    Raises:
        FileNotFoundError: the user has no home directory.
    """
    try:
        return Path(user_state_path("turnfold", appauthor=False))
    except RuntimeError as exc:
        raise FileNotFoundError(_HOMELESS) from exc
