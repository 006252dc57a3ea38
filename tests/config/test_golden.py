"""What the settings allow and what comes of them (``tests.support.golden`` says when to write the files anew).

These tests cover every setting with its default and its bounds, every check of a value, and what prices, windows, fold options
and proxies are made of settings. They leave out where settings come from (``test_settings``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from tests.support import golden
from turnfold.config import values
from turnfold.config.explain import explain
from turnfold.config.fold import fold_options, options_by_model
from turnfold.config.outbound import is_excepted, proxy_for
from turnfold.config.prices import TokenUse, dollars, packaged_window, price_from, prices_of
from turnfold.config.semantic import SemanticSettings
from turnfold.config.settings import ModelSettings, Settings, StoreSettings, anthropic_url, exposure, is_loopback
from turnfold.config.sources import VARIABLES, LoadedSettings, Origin, SettingsError, without_password
from turnfold.config.windows import window_of

FILES = Path(__file__).parent / "golden"
_PROSE = frozenset({"description", "title"})
NOON = 1_760_011_200.0

HOSTS = (
    *("localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "0.0.0.0", "10.1.2.3", "fe80::1%eth0", "300.1.1.1"),  # noqa: S104
    *("h", "a_b-c.test.", "-a.test", "a..test", "a b", "http://h", "h:80", "h/x", "münchen.test", "a" * 63, "a" * 64, ""),
)
WEB_URLS = (
    *(
        "http://h",
        "https://h/v1/",
        "https://h:8443/v1//",
        "http://[::1]:80/v1",
        "HTTP://h",
        "ftp://h",
        "http://",
        "h/v1",
        "",
        "/",
    ),
    *("http://h/a b", "http://h/\n", "http://h/é", "http://h:99999", "http://h:x", "http://u:p@h", "http://@h", "http://-h"),
    *(
        "http://h/?a=1",
        "http://h/#a",
        "http://h/?",
        "http://h#",
        "http://u:p/q@h",
        "none",
        "environment",
        "http://h:3128/",
        "http://h/x",
    ),
)
STORE_URLS = (
    *("memory://", "none://", "sqlite:///a.db", "sqlite:////a.db", "sqlite:///", "sqlite://a.db", "memory:", "x://h", ""),
    *("redis://h", "redis://h/", "redis://h/0", "redis://h/15", "redis://h/a", "rediss://:p@h:1/2/3", "redis://h:x/0"),
    *(
        "redis+cluster://a:1,b:2",
        "rediss+cluster://a:1/0",
        "redis+cluster://a:1/1",
        "redis+cluster://a:1,",
        "redis+cluster://a:b",
    ),
    *("redis+sentinel://u:p@a:1,[::1]:2/mine", "redis+sentinel://a:1/mine/3", "redis+sentinel://a:1", "rediss+sentinel://a/m/x"),
)
SECRET_URLS = (
    *("redis://u:p@h/0", "redis://:p@h/0", "redis://u@h", "redis://@h/0", "redis://h/0?password=p&db=1#x", "sqlite:////a@b"),
    *(
        "http://h/?a@b",
        "http://h/?a=b@c",
        "http://u:p?x=@h",
        "text",
        "redis://h/a?b",
        "redis://u:p?q=r@h/0?db=1",
        "http://u:p@@h",
    ),
)
MODELS = (
    *(
        "gpt-4o",
        "openai/gpt-4o-2024-08-06",
        "ft:gpt-4o-mini-2024-07-18:acme::id",
        "gpt-4o-harbour",
        "gpt-5",
        "gpt-5-foo",
        "gpt-5.5",
    ),
    *(
        "gpt-5.6",
        "gpt-5.5-mini",
        "gpt-5.10",
        "gpt-5.3",
        "gpt-6",
        "gpt-6.1@latest",
        "gpt-56x",
        "gpt-4.1-mini-2025-04-14",
        "gpt-4.5-new",
        "o3",
    ),
    *(
        "claude-3-haiku-20240307",
        "claude-sonnet-4-5",
        "claude-99",
        "gemini-2.5-pro",
        "gemini-3-x",
        "deepseek-chat",
        "x/deepseek-chat",
    ),
    *(
        "mistral-ocr-latest",
        "text-embedding-3-small",
        "azure/text-embedding-3-large",
        "mine",
        "mine-gpt-4o",
        "groq/gemma-7b-it",
        "",
    ),
)
UPSTREAMS = ("", "https://api.openai.com/v1", "https://api.deepseek.com", "https://eu.anthropic.com", "https://not-anthropic.com")
OWN = (
    None,
    ModelSettings(input=2.0),
    ModelSettings(input=0.0, output=3.0, cache_read=0.0, cache_write=0.0, window=1, cache_breakpoints=True),
    ModelSettings(output=8.0, cache_read=0.25, cache_write=1.5, window=9000, cache_breakpoints=False),
)
USES = (
    *(TokenUse(1_000_000), TokenUse(0, 1_000_000), TokenUse(9000, 40, 5000, 3000, 2000), TokenUse(100, 0, 300, 50, 20)),
    *(TokenUse(100, 0, 30, 90, 500), TokenUse(100, 0, -5, -5, -5), TokenUse(400_000, 100, 1000, 1000, 1000)),
)
FOLDING: dict[str, tuple[Any, ...]] = {
    "budget": (9000,),
    "cache_hit_share": (0.0, 0.5, 1.0),
    "recall": (False,),
    "recall_tool_text": (False,),
    "shape_results": (False,),
    "keep_tools": ("a,,",),
    "keep_roles": ("tool",),
    "prose": ("lite", "ultra"),
    "cache_breakpoints": ("on", "off"),
    "drop_thinking": (True,),
}


def described(name: str, schema: dict[str, Any]) -> Iterator[str]:
    for key, one in schema.get("properties", {}).items():
        kept = {word: value for word, value in one.items() if word not in _PROSE}
        yield f"{name}.{key} {json.dumps(kept, sort_keys=True)}"


def outcome(function: Callable[..., object], *given: object) -> str:
    """What a function returns, or the message of what it raises."""
    try:
        found = function(*given)
    except ValidationError as exc:
        return "! " + "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in exc.errors())
    except ValueError as exc:
        return f"! {exc}"
    return repr(found)


def outcomes(function: Callable[..., object], cases: Iterable[object]) -> list[str]:
    name = getattr(function, "__name__", "")
    return [f"{name} {given!r}: {outcome(function, *(given if isinstance(given, tuple) else (given,)))}" for given in cases]


def test_settings() -> None:
    schema = Settings.model_json_schema()
    groups = {"Settings": schema, **schema["$defs"]}
    golden.agrees(FILES / "settings.txt", [line for name, one in groups.items() for line in described(name, one)])


def test_values() -> None:
    """Every check, of what it takes and of what it does not, with the whole message."""

    def header(text: str) -> str:
        return values.sent_secret(SecretStr(text)).get_secret_value()

    def keys(*texts: str) -> tuple[bytes, ...]:
        return StoreSettings.model_validate({"encryption_keys": ",".join(texts)}).key_bytes

    right = base64.b64encode(bytes(range(224, 256))).decode()
    wrong = ("x", right[4:], right.replace("/", "!"), "")
    lines = [
        *outcomes(is_loopback, HOSTS),
        *outcomes(values.host_name, HOSTS),
        *outcomes(values.http_url, WEB_URLS),
        *outcomes(values.store_url, STORE_URLS),
        *outcomes(values.proxy_choice, WEB_URLS),
        *outcomes(without_password, SECRET_URLS),
        *outcomes(values.split_commas, ["", ",", " a , b ,,c", 5, ["a,b"]]),
        *outcomes(header, ["k", " k\n", "a b", "é", " ", "", "\x7f", "!~"]),
        *outcomes(keys, [right, (right, right.replace("+", "-").replace("/", "_")), *wrong, (right, "x")]),
    ]
    golden.agrees(FILES / "values.txt", lines)


def test_who_may_spend_a_key() -> None:
    names = ("upstream", "anthropic", "summary", "semantic")
    lines = []
    for holders in ((), *((name,) for name in names), ("upstream", "semantic"), ("anthropic", "summary")):
        for host, server, tokens in product(("localhost", "h.test"), ({}, {"uds": "/s"}), ((), ("t",))):
            found = Settings.model_construct(
                **{
                    **{
                        name: type(getattr(Settings(), name)).model_validate({"api_key": "k"} if name in holders else {})
                        for name in names
                    },
                    "server": Settings().server.model_validate({"host": host, **server}),
                    "auth": Settings().auth.model_validate({"client_tokens": tokens}),
                }
            )
            lines.append(f"{'+'.join(holders)} {host} {server} {tokens}: {exposure(found)}")
    for up, own in product(("https://api.openai.com/v1", "https://h/v1"), (None, "https://a.test", "https://a.test/v1/")):
        lines.append(
            f"{up} {own}: {anthropic_url(Settings.model_validate({'upstream': {'url': up}, 'anthropic': {'url': own}}))}"
        )
    golden.agrees(FILES / "exposure.txt", lines)


def test_prices() -> None:
    """Prices, windows and bills of many models, by name and by upstream, with figures of one's own and without."""
    lines = []
    for model, upstream in product(MODELS, UPSTREAMS[:3]):
        found = prices_of(model, upstream)
        lines.append(f"{model} {upstream}: {found} {packaged_window(model, upstream)} {window_of(model, upstream)}")
        if not upstream:
            for own in OWN:
                bills = [dollars(model, use, at, upstream, own) for use in USES for at in (NOON, NOON + 43_200)]
                shown = [None if one is None else round(one, 9) for one in bills]
                lines.append(f"  {prices_of(model, upstream, own)} {window_of(model, upstream, own)} {shown}")
    price = price_from(Settings.model_validate({"models": {"mine": {"input": 5.0}}}))
    lines += [f"{model}: {price(model, TokenUse(1_000_000), NOON)}" for model in ("mine", "gpt-4o", "none")]
    golden.agrees(FILES / "prices.txt", lines)


def test_fold_options() -> None:
    """What each setting of folding changes in the options, and what they are by model and upstream."""
    usual = fold_options(Settings(), "gpt-4o")
    lines = [f"{one.name} {getattr(usual, one.name)}" for one in fields(usual)]

    def changed(given: dict[str, Any], model: str = "gpt-4o") -> str:
        options = options_by_model(Settings.model_validate(given))
        of = options(model)
        assert (options(model) is of) == (len(model) <= 200), "a longer name is not remembered"
        return ", ".join(
            f"{one.name} {getattr(of, one.name)}" for one in fields(of) if getattr(of, one.name) != getattr(usual, one.name)
        )

    for name, choices in FOLDING.items():
        lines += [f"{name} {one}: {changed({'folding': {name: one}})}" for one in choices]
    for summary, folding, store in product(
        ({}, {"model": "m"}, {"model": "m", "blocks": "off"}),
        ({}, {"cache_hit_share": 0.5}),
        ({}, {"url": "none://"}, {"save_originals": False}),
    ):
        lines.append(f"{summary} {folding} {store}: {changed({'summary': summary, 'folding': folding, 'store': store})}")
    for model, upstream in product(("gpt-5.6", "claude-sonnet-5", "mine", "", "m" * 200, "m" * 201), UPSTREAMS[1:]):
        lines.append(
            f"{model[:20]} {upstream}: {changed({'upstream': {'url': upstream}, 'models': {'mine': {'window': 7}}}, model)}"
        )
    lines.append(f"budget of a request: {fold_options(Settings.model_validate({'folding': {'budget': 5}}), 'm', 6).budget}")
    golden.agrees(FILES / "fold_options.txt", lines)


def test_groups_with_rules_of_their_own() -> None:
    lines = []

    def semantic(given: dict[str, Any]) -> tuple[bool, object, float]:
        made = SemanticSettings.model_validate(given)
        return made.is_on, made.knows, made.patience

    def store(given: dict[str, Any]) -> tuple[bool, bool]:
        made = StoreSettings.model_validate(given)
        return made.is_off, made.keeps_originals

    large, old = "x/Text-Embedding-3-Large", "text-embedding-ada-002"
    sizes: list[tuple[str | None, int]] = [
        (large, 3072),
        (large, 3073),
        (old, 8),
        (old, 1536),
        ("other", 8192),
        (None, 8),
        ("other", 7),
    ]
    cases: list[dict[str, Any]] = [
        *({}, {"model": "m"}, {"embedding_model": "e"}, {"model": "m", "embedding_model": "e"}),
        *({name: "m", "languages": one} for name in ("model", "embedding_model") for one in ("english", "all")),
        *({"timeout": 1.5}, {"model": "m", "timeout": 1.5}, {"batch": 2049}, {"cpu_share": 1.0}),
        *({"embedding_model": name, "dimensions": most} for name, most in sizes),
    ]
    lines += outcomes(semantic, cases)
    lines += outcomes(store, [{}, {"url": "none://"}, {"save_originals": False}, {"url": "memory://"}])
    golden.agrees(FILES / "groups.txt", lines)


def test_the_way_to_an_upstream() -> None:
    variables: tuple[dict[str, str], ...] = (
        {},
        {"https": "p:3128"},
        {"http": "http://u:p%20w@q", "no": "h.test:80"},
        {"all": "https://[::1]"},
        {"https": "p:x"},
    )
    choices = ("environment", "none", "http://r:1", "https://u@r")
    urls = ("https://h.test/v1", "http://h.test", "http://localhost:1")
    lines = []
    for url, choice, found in product(urls, choices, variables):
        try:
            way = proxy_for(url, choice, found)
            lines.append(f"{url} {choice} {found}: {way} {way and way.user}")
        except SettingsError as exc:
            lines.append(f"{url} {choice} {found}: ! {exc}")
    hosts = (("h.test", 80), ("a.h.test.", 443), ("10.1.2.3", 80), ("::1", 80), ("H.TEST", 80))
    entries = (
        *(
            "",
            "*",
            ",*",
            "h.test",
            ".h.test",
            "*.h.test",
            "test",
            "h.test:80",
            "a.h.test:80 10.0.0.0/8",
            "10.1.2.3:80",
            "10.1.2.3:81",
        ),
        *("[::1]:80", "[::1]", "::1", "::/0", "10.1.2.3/x", "h.test/8", "h.test:x", ".", ":80", "10.1.2.4", ".test."),
    )
    lines += [f"{entry!r}: {[is_excepted(host, port, entry) for host, port in hosts]}" for entry in entries]
    golden.agrees(FILES / "proxies.txt", lines)


def test_explained() -> None:
    """Every row that `turnfold config` shows, with values that are secrets, lists, tables, files and addresses."""
    given = {
        "upstream": {"api_key": "hush", "proxy": "http://u:hush@p:1", "ca_bundle": "a/b.pem"},
        "store": {"url": "redis://u:hush@h:1/0"},
        "folding": {"keep_tools": "a,b", "budget": 5},
        "auth": {"client_tokens": "hush,hush2", "secret": "hush"},
        "models": {"m": {"input": 1.0}},
        "tenants": {"t": "Anna"},
    }
    origins = {("folding", "budget"): Origin("--budget", "the command line"), ("models", ""): Origin("models", "turnfold.toml")}
    rows = explain(LoadedSettings(Settings.model_validate(given), origins))
    assert [row.variable for row in rows] == list(VARIABLES.values())
    shown = [f"{row.variable} {row.setting} {json.dumps(row.value)} {row.origin} {bool(row.description)}" for row in rows]
    assert "hush" not in "".join(shown)
    golden.agrees(FILES / "explained.txt", shown)
