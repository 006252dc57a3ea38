"""Where settings come from.

This module reads flags, environment, ``.env`` and ``turnfold.toml``, and knows their flat names, their precedence, and the origin
of each value. Apart from the proxy variables (``outbound``), nothing else reads the environment. Defaults and validation are in
``settings``.

Precedence: flag > environment > ``.env`` > ``turnfold.toml`` > default. An empty variable counts as not set, because Compose
sets one for each value that is left out. ``NAME_FILE`` names a file that holds the value of ``NAME``.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import BaseModel, ValidationError

from turnfold.config.settings import Settings

#: (group, field), or (group, "") for a whole table.
SettingPath = tuple[str, str]

PREFIX: Final = "TURNFOLD_"
MASK: Final = "********"
_VARIABLE: Final = "the environment"
# Variables of these groups contain the group's name (TURNFOLD_STORE_URL); other fields are clear without it (TURNFOLD_PORT).
_NAMED_GROUPS: Final = frozenset({"upstream", "anthropic", "summary", "semantic", "store", "cache", "otel", "log"})
# Kubernetes writes such variables for every service in a namespace, one called "turnfold" included.
_SERVICE_LINK: Final = re.compile(r"TURNFOLD_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)")
_FILE: Final = "_FILE"
_URLS: Final = frozenset({"url", "proxy", "endpoint"})
_QUERY: Final = re.compile(r"\?(?=[\w-]+=)")
_VALUE: Final = re.compile(r"([?&][\w-]+=)[^&#]*")
_WHOLE_NUMBER: Final = "must be a whole number"
#: What to say of an invalid value, by pydantic's kind of error; of other kinds, what pydantic says.
_SAY: Final = MappingProxyType(
    {
        "extra_forbidden": "no such setting",
        "bool_parsing": "must be true or false",
        "float_parsing": "must be a number",
        **dict.fromkeys(("int_parsing", "int_from_float", "int_type"), _WHOLE_NUMBER),
    }
)


class SettingsError(ValueError):
    """The settings are invalid. The message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: the name that set it, and the source."""

    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


@dataclass(frozen=True, slots=True)
class SourceValues:
    """The values from one source."""

    values: Mapping[SettingPath, Any]
    origins: Mapping[SettingPath, Origin]


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and the origin of each value that is not a default."""

    settings: Settings
    origins: Mapping[SettingPath, Origin] = field(default_factory=lambda: MappingProxyType({}))


def _fields() -> dict[SettingPath, str]:
    names: dict[SettingPath, str] = {}
    for group, info in Settings.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            stem = f"{PREFIX}{group.upper()}_" if group in _NAMED_GROUPS else PREFIX
            names |= {(group, name): stem + name.upper() for name in info.annotation.model_fields}
        else:
            names[(group, "")] = PREFIX + group.upper()
    return names


#: Every setting and the variable that sets it.
VARIABLES: Final[Mapping[SettingPath, str]] = MappingProxyType(_fields())
_BY_VARIABLE: Final[Mapping[str, SettingPath]] = MappingProxyType({name: path for path, name in VARIABLES.items()})


def _nearest(name: str, known: list[str]) -> str:
    """A hint with the first name that contains all of the name's words, else the most similar one."""
    words = set(name.split("_"))
    wider = [one for one in known if words < set(one.split("_"))]
    close = wider[:1] or get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _right_place(name: str) -> str:
    """Where to write a setting that was found in another table, in none, or under the name of its variable."""
    variable = PREFIX + name.upper().removeprefix(PREFIX)
    called_so = [path for path in VARIABLES if path[1] == name.lower()]
    path = _BY_VARIABLE.get(variable) or (called_so[0] if len(called_so) == 1 else None)
    return f"; write {path[1]} under [{path[0]}]" if path and path[1] else ""


def _parse(name: str, source: str, path: SettingPath, text: str) -> Any:
    if path[1]:
        return text
    try:
        return json.loads(text)
    except ValueError as exc:
        raise SettingsError(f"{name} (from {source}): must be a JSON object: {exc}") from exc


def _variables(source: str, found: Mapping[str, str | None]) -> SourceValues:
    values: dict[SettingPath, Any] = {}
    origins: dict[SettingPath, Origin] = {}
    for raw_name, given in found.items():
        name = raw_name.upper()
        if not name.startswith(PREFIX) or not given or _SERVICE_LINK.fullmatch(name):
            continue
        origin = Origin(name, source)
        path = _BY_VARIABLE.get(name) or _BY_VARIABLE.get(name.removesuffix(_FILE))
        if path is None:
            raise SettingsError(f"{name} (from {source}): no such setting{_nearest(name, list(_BY_VARIABLE))}")
        if VARIABLES[path] != name and found.get(VARIABLES[path]):
            raise SettingsError(f"{name} (from {source}): {VARIABLES[path]} is set too; set one of them")
        if text := _plain(origin, path, given if VARIABLES[path] == name else _read_value(origin, given)):
            values[path] = _parse(name, source, path, text)
            origins[path] = origin
    return SourceValues(values, origins)


def _read_value(origin: Origin, name: str) -> str:
    """The content of the file that a variable names, without the line end."""
    try:
        text = Path(name).read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{origin.name} (from {origin.source}): {name} cannot be read: {exc}") from exc
    if not text:
        raise SettingsError(f"{origin.name} (from {origin.source}): {name} is empty")
    return text


def _plain(origin: Origin, path: SettingPath, text: str) -> str:
    """A value without the white space around it. Quotes around it are refused: they come from a file written for a
    shell, and `docker run --env-file` passes them on."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        raise SettingsError(f"{origin.name} (from {origin.source}): the value is in quotes; remove them")
    return text if _is_secret(path) else text.strip()  # the validators strip secrets themselves


def _environment() -> SourceValues:
    return _variables(_VARIABLE, os.environ)


def _env_file(file: Path) -> SourceValues:
    if file.is_dir():
        raise SettingsError(f"{file}: is a directory (Docker creates one if a mounted file does not exist)")
    if not file.is_file():
        return _variables(file.name, {})
    try:
        with file.open(encoding="utf-8") as lines:  # lines of other programs may have any form: one `.env` serves many programs
            wrong = next((one.original for one in parse_stream(lines) if one.error and PREFIX in one.original.string), None)
        if wrong is not None:
            raise SettingsError(f"{file}: line {wrong.line} is not NAME=VALUE, or a quote is not closed")
        return _variables(file.name, dotenv_values(file, encoding="utf-8"))
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{file}: cannot be read: it is not UTF-8; save it as UTF-8") from exc
    except OSError as exc:
        raise SettingsError(f"{file}: cannot be read: {exc}") from exc


def _read_toml(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(f"{file}: not valid TOML: {exc}") from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{file}: cannot be read: {exc}") from exc


def _toml_file(file: Path) -> SourceValues:
    values: dict[SettingPath, Any] = {}
    groups = list(Settings.model_fields)
    for group, table in _read_toml(file).items():
        if group not in groups:
            hint = _right_place(group) or _nearest(group, groups)
            raise SettingsError(f"{group} (from {file.name}): no such table{hint}")
        if (group, "") in VARIABLES:
            values[(group, "")] = table
            continue
        if not isinstance(table, dict):
            raise SettingsError(f"{group} (from {file.name}): must be a table, written [{group}]")
        for key, value in table.items():
            if (group, key) not in VARIABLES:
                known = [name for of, name in VARIABLES if of == group]
                hint = _right_place(key) or _nearest(key, known)
                raise SettingsError(f"{group}.{key} (from {file.name}): no such setting{hint}")
            values[(group, key)] = value
    return SourceValues(values, {path: Origin(".".join(filter(None, path)), file.name) for path in values})


def _flags(given: Mapping[str, tuple[SettingPath, Any]]) -> SourceValues:
    set_ = {flag: pair for flag, pair in given.items() if pair[1] is not None}
    origins = {path: Origin(flag, "the command line" if flag.startswith("-") else _VARIABLE) for flag, (path, _) in set_.items()}
    return SourceValues(dict(set_.values()), origins)


def _refusal(error: ValidationError, origins: Mapping[SettingPath, Origin]) -> SettingsError:
    first = error.errors(include_url=False, include_context=False)[0]
    message = _SAY.get(first["type"]) or first["msg"].removeprefix("Value error, ").replace("Input should ", "must ", 1)
    place = [str(part) for part in first["loc"]]
    if not place:
        return SettingsError(message)
    path = (place[0], place[1]) if len(place) > 1 and (place[0], place[1]) in VARIABLES else (place[0], "")
    origin = origins.get(path)
    name = origin.name if origin else ".".join(place)
    inner = "" if path[1] else "".join(f".{part}" for part in place[1:])
    source = f" (from {origin.source})" if origin else ""
    value = first["input"]
    known = first["type"] != "extra_forbidden" and isinstance(value, str | int | float) and not _may_hold_secret(path, value)
    shown = f", not {without_password(str(value))!r}" if known else ""
    return SettingsError(f"{name}{inner}{source}: {message}{shown}{_hint(value)}")


def without_password(text: str) -> str:
    """A URL with its user and password masked, and the values of its query, which may be passwords; any other text unchanged."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme == "sqlite":
        return text
    place, query = _QUERY.split(rest, 1) if _QUERY.search(rest) else (rest, "")
    user, at, host = place.rpartition("@")
    if "@" in query and not at:  # ambiguous: a password with a question mark, or a query with an @
        return f"{scheme}://{MASK}"
    shown = f"{MASK}@{host}" if at and user else place
    return f"{scheme}://{shown}" + (_VALUE.sub(rf"\1{MASK}", f"?{query}") if query else "")


def _hint(value: object) -> str:
    linked = isinstance(value, str) and re.match(r"tcp://[\d.]+:\d+$", value)
    return " (probably a Kubernetes service link: set enableServiceLinks to false)" if linked else ""


def _may_hold_secret(path: SettingPath, value: object) -> bool:
    """Whether a value is a secret, or an invalid URL, which may be a password or a key."""
    return _is_secret(path) or (path[1] in _URLS and "://" not in str(value))


def _is_secret(path: SettingPath) -> bool:
    info = Settings.model_fields[path[0]].annotation
    if not path[1] or not isinstance(info, type) or not issubclass(info, BaseModel):
        return False
    return "SecretStr" in str(info.model_fields[path[1]].annotation)


def load(flags: Mapping[str, tuple[SettingPath, Any]] | None = None, directory: Path | None = None) -> LoadedSettings:
    """The effective settings, from every source.

    Args:
        flags: flag as the user writes it, or another program's variable that stands for the setting -> (path of the setting,
            value); None values are flags that were not given.
        directory: where ``.env`` and ``turnfold.toml`` are looked for; default: the working directory.

    Raises:
        SettingsError: a value is invalid, a name is unknown, or a file cannot be read; the message is one line.
    """
    place = directory or Path.cwd()
    layers = (_toml_file(place / "turnfold.toml"), _env_file(place / ".env"), _environment(), _flags(flags or {}))
    values: dict[SettingPath, Any] = {}
    origins: dict[SettingPath, Origin] = {}
    for layer in layers:
        values |= layer.values
        origins |= layer.origins
    nested: dict[str, Any] = {}
    for (group, name), value in values.items():
        if name:
            nested.setdefault(group, {})[name] = value
        else:
            nested[group] = value
    try:
        return LoadedSettings(Settings(**nested), MappingProxyType(origins))
    except ValidationError as exc:
        raise _refusal(exc, origins) from exc
