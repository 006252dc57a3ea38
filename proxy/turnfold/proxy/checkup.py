"""Whether an installation works: findings for an operator.

There is one check per part; printing is up to the command. Nothing that costs more than a trifle is called: the upstream is only
asked whether it answers, and an embedding model, if one is set, gets one short text, for a ten-millionth of a dollar.
"""

from __future__ import annotations

import asyncio
import platform
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal
from urllib.parse import urlsplit

import httpx

from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput
from turnfold.config.fold import fold_options, read_lexicon
from turnfold.config.outbound import proxy_for
from turnfold.config.paths import default_store_url, in_home
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings, StoreSettings, anthropic_url, is_reachable
from turnfold.config.sources import LoadedSettings, SettingsError, without_password
from turnfold.proxy.books.learned import learned_windows
from turnfold.proxy.eviction import eviction_problem
from turnfold.proxy.file_check import find_damage
from turnfold.proxy.listening import check_address
from turnfold.proxy.outbound.trust import tls_context
from turnfold.proxy.preflight import doubts, leads_here, look_for_v1, upstream_urls
from turnfold.proxy.running.sharing import default_url, is_turnfold, parts_down, store_problem
from turnfold.proxy.semantic.encoder import EncoderFailed
from turnfold.proxy.semantic.local_encoder import open_local
from turnfold.proxy.semantic.upstream_encoder import UpstreamEncoder
from turnfold.proxy.store import OpenStore, StoreError, StoreForbidden, open_store
from turnfold.proxy.store_trial import try_store

Verdict = Literal["ok", "note", "fault"]
_PATIENCE: Final = 10.0
_LARGEST_SKEW: Final = 60.0
_SHOWN_WINDOWS: Final = 3
_STILL_KEPT: Final = (
    "no folded text is stored, and drill-down is off; the store still holds receipts (ids, sizes, times, names of models and"
    " conversations, hashes and checksums of texts), directives of conversation states, and what is added to /v1/conversation"
)
_KNOWN_TEXT: Final = "Turnfold folds long conversations."


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `advice` says what to do, "" if nothing."""

    part: str
    verdict: Verdict
    found: str
    advice: str = ""


async def _settings(loaded: LoadedSettings) -> list[Finding]:
    settings = loaded.settings
    findings = [Finding("settings", "ok", f"{len(loaded.origins)} set, the rest at their defaults; mode {settings.folding.mode}")]
    if settings.auth.admin_token is None:
        findings.append(Finding("admin", "note", "no admin token, the admin routes are closed", "set TURNFOLD_ADMIN_TOKEN"))
    if settings.auth.secret is None and is_reachable(settings.server):
        advice = "set TURNFOLD_SECRET (the same on every replica) before there is data; after a change the report starts empty"
        findings.append(Finding("secret", "note", "tenants are plain hashes of credentials", advice))
    if not settings.store.save_originals:
        findings.append(Finding("originals", "note", _STILL_KEPT, "use memory:// to keep nothing beyond a restart"))
    return findings


async def _network(loaded: LoadedSettings) -> list[Finding]:
    """The proxy on the way out, and the files for TLS."""
    upstream, findings = loaded.settings.upstream, []
    try:
        if (proxy := proxy_for(upstream.url, upstream.proxy)) is not None:
            findings.append(Finding("proxy", "ok", f"upstreams are reached through {proxy.url} ({proxy.source})"))
        if tls_context(upstream) is not None:
            named = [f"trusts {upstream.ca_bundle} too"] if upstream.ca_bundle else []
            named += [f"shows {upstream.client_certificate} to upstreams that ask"] if upstream.client_certificate else []
            findings.append(Finding("tls", "ok", " and ".join(named)))
    except SettingsError as exc:
        findings.append(Finding("network", "fault", str(exc), "`turnfold serve` will not start with it"))
    return findings


async def _upstreams(loaded: LoadedSettings) -> list[Finding]:
    settings = loaded.settings
    for variable, named in upstream_urls(settings).items():
        if named is not None and leads_here(named, settings.server):
            advice = f"set {variable} to the provider's address"
            return [Finding("upstream", "fault", f"{named} is the address on which Turnfold itself listens", advice)]
    url = anthropic_url(settings)
    try:
        asked = partial(_upstream, loaded, tls_context(settings.upstream))
        if url is None:
            return await asked(settings.upstream.url, "TURNFOLD_UPSTREAM_URL", "chat completions, responses and messages")
        openai = await asked(settings.upstream.url, "TURNFOLD_UPSTREAM_URL", "chat completions and responses")
        return [*openai, *(await asked(url, "TURNFOLD_ANTHROPIC_URL", "messages"))[:1]]
    except SettingsError:  # the check of the network reports it
        return []


async def _upstream(
    loaded: LoadedSettings, context: ssl.SSLContext | None, url: str, variable: str, formats: str
) -> list[Finding]:
    """Whether it answers, by the way that requests take, and whether its clock agrees with ours.

    Args:
        formats: what goes there.
    """
    started, wall = time.perf_counter(), time.time()
    proxy = proxy_for(url, loaded.settings.upstream.proxy)
    secure = context if proxy is not None and proxy.url.startswith("https:") else None
    by = None if proxy is None else httpx.Proxy(proxy.url, auth=proxy.user, ssl_context=secure)
    asked = url + ("/models" if urlsplit(url).path.strip("/") else "/v1/models")  # where a client's /v1/models is forwarded
    try:
        async with httpx.AsyncClient(timeout=_PATIENCE, trust_env=False, proxy=by, verify=context or True) as client:
            response = await client.get(asked, headers=_credential(loaded, variable))
    except (httpx.HTTPError, ssl.SSLError, OSError) as exc:
        cause, advice = _why_silent(exc, variable)
        through = f" through the proxy {proxy.url} ({proxy.source})" if proxy else ""
        return [Finding("upstream", "fault", f"{url} does not answer{through}: {cause}", advice)]
    took = (time.perf_counter() - started) * 1000
    found = f"{url} answers ({response.status_code}, {took:.0f} ms); it gets {formats}"
    lacks_v1 = await asyncio.to_thread(look_for_v1, url) if response.status_code == 404 else None
    if lacks_v1:
        fault = Finding("upstream", "fault", f"{asked} is not found (404)", f"set {variable} to {url}/v1")
        return [fault, _clock(response, wall)]
    if response.status_code in (401, 403) and _credential(loaded, variable):
        refused = f"{url} refuses {_KEYS[variable]} ({response.status_code})"
        return [
            Finding("upstream", "fault", refused, f"set {_KEYS[variable]} to a key of this provider's"),
            _clock(response, wall),
        ]
    trouble = _TROUBLES.get(response.status_code, "the upstream is in trouble" if response.status_code >= 500 else "")
    return [Finding("upstream", "note" if trouble else "ok", found, trouble), _clock(response, wall)]


#: Statuses that requests will get from this upstream too.
_TROUBLES: Final = {429: "it limits requests now: wait, or have the limit raised"}
_KEYS: Final = {
    "TURNFOLD_UPSTREAM_URL": "TURNFOLD_UPSTREAM_API_KEY",
    "TURNFOLD_ANTHROPIC_URL": "TURNFOLD_ANTHROPIC_API_KEY",
}


def _credential(loaded: LoadedSettings, variable: str) -> dict[str, str]:
    """The operator's key for an upstream, as a header; empty if clients bring their own."""
    if variable == "TURNFOLD_UPSTREAM_URL":
        key = loaded.settings.upstream.api_key
        return {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    key = loaded.settings.anthropic.api_key
    return {"x-api-key": key.get_secret_value(), "anthropic-version": "2023-06-01"} if key else {}


#: Text of a connection error; its cause, and what to do ({} is the setting).
_CAUSES: Final = (
    ("WRONG_VERSION_NUMBER", "there is no TLS at this port", "check {}: perhaps http:// is meant, or another port"),
    ("RECORD_LAYER_FAILURE", "there is no TLS at this port", "check {}: perhaps http:// is meant, or another port"),
    ("certificate has expired", "its certificate has expired", "renew it there; if it is valid, this machine's clock is wrong"),
    ("not yet valid", "its certificate is not valid yet", "check this machine's clock"),
    ("mismatch", "its certificate is for another name", "check {}"),
    (
        "self-signed",
        "its certificate is self-signed and not trusted",
        "name its file in TURNFOLD_UPSTREAM_CA_BUNDLE",
    ),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted", "name its authority's file in TURNFOLD_UPSTREAM_CA_BUNDLE"),
    ("Name or service not known", "its name is not known", "check {} and DNS"),
    ("name resolution", "names cannot be looked up", "check the network and DNS"),
    ("All connection attempts failed", "nothing listens there, or a firewall blocks it", "check {}, firewall and proxies"),
)


def _why_silent(exc: Exception, variable: str) -> tuple[str, str]:
    """Why an upstream did not answer, and what to do."""
    said = str(exc)
    for words, cause, advice in _CAUSES:
        if words in said:
            return cause, advice.format(variable)
    if isinstance(exc, httpx.ReadError | httpx.RemoteProtocolError):
        cause = "it closes the connection" + (f" ({said})" if said else "")
        return cause, f"check {variable}: perhaps https:// is meant, or another port"
    if isinstance(exc, httpx.TimeoutException):
        return f"no answer within {_PATIENCE:g} s", f"check {variable}, firewall and proxies"
    return said or type(exc).__name__, f"check {variable}, DNS, firewall and proxies"


def _clock(response: httpx.Response, wall: float) -> Finding:
    try:
        skew = wall - parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return Finding("clock", "note", "the upstream sends no time to compare with")
    if abs(skew) > _LARGEST_SKEW:
        return Finding("clock", "note", f"off by {skew:.0f} s against the upstream", "receipts are sorted by it: use NTP")
    return Finding("clock", "ok", "agrees with the upstream's within a minute")


_GRANT: Final = "grant its user the missing permissions (ACL SETUSER)"
_MAKE_ROOM: Final = "make room for it"


async def _store(loaded: LoadedSettings) -> list[Finding]:
    settings = loaded.settings.store
    url = without_password(settings.url or default_store_url())
    if settings.is_off:
        return [Finding("store", "note", f"{url} keeps nothing: {_missing(settings)}", "use SQLite or Redis for these")]
    opened = open_store(settings)
    store = opened.patient  # creating the file may take long on a busy machine
    try:
        await store.ping()
        took = await try_store(store)
        evicts = await _eviction(opened)
    except StoreError as exc:
        mend = _GRANT if isinstance(exc, StoreForbidden) else _MAKE_ROOM if "full" in str(exc) else "check TURNFOLD_STORE_URL"
        advice = f"requests are still served, but drill-down and the report are not: {mend}"
        return [Finding("store", "fault", f"{url}: {exc}", advice)]
    finally:
        await opened.close()
    if took is None:
        return [Finding("store", "fault", f"{url} does not return what was written to it", "use another store")]
    found = [Finding("store", "ok", f"{url} writes and reads ({1000 * took:.0f} ms)")]
    if took > 2 * settings.timeout:
        slow = f"{url} is slow ({1000 * took:.0f} ms)"
        found = [Finding("store", "note", slow, "requests continue without it: use a faster one")]
    if url.startswith("sqlite:"):
        found += await asyncio.to_thread(_damage, url.removeprefix("sqlite:///"))
    found += evicts
    found += [Finding("store", "fault", doubt) for doubt in doubts(loaded.settings)]
    if not settings.save_receipts:
        found.append(Finding("store", "note", "no receipts are kept, so the report is empty", "set TURNFOLD_STORE_SAVE_RECEIPTS"))
    if url.startswith("memory:"):
        found.append(Finding("store", "note", "memory:// is lost at a restart and not shared by workers", "use SQLite or Redis"))
    elif url.startswith("sqlite:") and loaded.settings.server.workers > 4:
        found.append(Finding("store", "note", "many workers on one SQLite file", "Redis suits them better"))
    return found


async def _eviction(opened: OpenStore) -> list[Finding]:
    """Whether the server silently drops receipts once its memory is full; nothing else would show it."""
    try:
        problem = await eviction_problem(opened.evicting)
    except StoreError as exc:  # some managed servers do not report it; storing works anyway
        said = f"what this Redis does when it is full is not known ({exc})"
        return [Finding("store", "note", said, "its maxmemory-policy should be noeviction")]
    return [Finding("store", "note", problem, "set its maxmemory-policy to noeviction")] if problem else []


def _damage(named: str) -> list[Finding]:
    """Findings of damaged pages of a SQLite file; a running Turnfold notices them only when it reads them."""
    path = in_home(named, "TURNFOLD_STORE_URL")
    found = find_damage(path, _PATIENCE)
    if not found.whole:
        return [Finding("store", "note", f"{path} is too large to be checked for damage in {_PATIENCE:.0f} s")]
    if not found.problem:
        return []
    advice = "stop Turnfold and move the file away; `sqlite3 FILE .recover` recovers what can be read"
    return [Finding("store", "fault", f"{path} is damaged: {found.problem}", advice)]


def _missing(settings: StoreSettings) -> str:
    books = "receipts and the report last until a restart" if settings.save_receipts else "no receipts, no report"
    return f"no drill-down, stored conversations, states or cached results, nothing learned survives a restart; {books}"


async def _windows(loaded: LoadedSettings) -> list[Finding]:
    if any(finding.verdict == "fault" for finding in await _lexicon(loaded)):
        return []
    store, now = open_store(loaded.settings.store), time.time()
    try:
        rows = await learned_windows(store.patient, now, partial(fold_options, loaded.settings))
    except StoreError:  # the check of the store reports it
        return []
    finally:
        await store.close()
    learned = [row for row in rows if row["in_force"]]
    if not learned:
        return []
    shown = "; ".join(f"{row['model'] or '(unnamed)'} {row['window']:,} ({row['how']})" for row in learned[:_SHOWN_WINDOWS])
    more = f" and {len(learned) - _SHOWN_WINDOWS} more" if len(learned) > _SHOWN_WINDOWS else ""
    advice = "requests are cut to fit; if that is wrong: turnfold windows forget"
    return [Finding("windows", "note", f"learned from upstreams: {shown}{more}", advice)]


async def _vocabularies(_: LoadedSettings) -> list[Finding]:
    try:
        counts = [tokens.count(_KNOWN_TEXT, name) for name in ("o200k_base", "cl100k_base")]
    except (ValueError, OSError, AttributeError) as exc:
        return [Finding("tokens", "fault", f"a vocabulary does not load: {exc}", "install Turnfold anew")]
    return [Finding("tokens", "ok", f"both vocabularies load offline ({counts[0]} and {counts[1]} tokens in a sample)")]


async def _prices(loaded: LoadedSettings) -> list[Finding]:
    known = prices_of("gpt-4o", loaded.settings.upstream.url).input is not None
    if not known:
        return [Finding("prices", "fault", "the price list is not readable", "install Turnfold anew")]
    return [Finding("prices", "ok", f"the packaged list (genai-prices {_version('genai-prices')})")]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


async def _versions(_: LoadedSettings) -> list[Finding]:
    parts = ", ".join(f"{name} {_version(name)}" for name in ("turnfold", "uvicorn", "starlette", "httpx", "redis", "tiktoken"))
    return [Finding("versions", "ok", f"Python {platform.python_version()}, {parts}")]


async def _address(loaded: LoadedSettings) -> list[Finding]:
    """Whether Turnfold can listen at its address; if it listens already, the state of that server."""
    server, problem = loaded.settings.server, ""
    if server.uds is None:
        try:
            check_address(server)
        except SettingsError as exc:
            problem = str(exc)
    origin = default_url(server)
    taken = bool(problem) if server.uds is None else server.uds.exists()
    if taken and await asyncio.to_thread(is_turnfold, origin):
        answers = Finding("address", "ok", f"a Turnfold answers at {server.uds or origin}")
        return [answers, *await asyncio.to_thread(_running, origin, loaded.settings)]
    if problem:
        return [Finding("address", "fault", problem)]
    free = (
        f"{server.host}, port {server.port or '(any)'} is free" if server.uds is None else f"no Turnfold listens on {server.uds}"
    )
    return [Finding("address", "ok", free)]


def _running(origin: str, settings: Settings) -> list[Finding]:
    """Parts that the running Turnfold reports as down: it may run as another user or with other settings."""
    down = parts_down(origin)
    if not down:
        return []
    why = store_problem(origin, settings.auth.admin_token) if {"store", "receipts"} & set(down) else ""
    said = f"the running Turnfold reports that these parts are down: {', '.join(down)}" + (f" ({why})" if why else "")
    return [Finding("running", "fault", said, "its log says why; /readyz says when they are up again")]


async def _lexicon(loaded: LoadedSettings) -> list[Finding]:
    file = loaded.settings.folding.prose_lexicon
    if file is None:
        return []
    try:
        read_lexicon(file)
    except SettingsError as exc:
        return [Finding("lexicon", "fault", str(exc))]
    return [Finding("lexicon", "ok", f"{file} is readable")]


async def _semantic(loaded: LoadedSettings) -> list[Finding]:
    """Whether sentence vectors work, how long a question's vector takes, and what depends on the store."""
    settings = loaded.settings
    if not settings.semantic.is_on:
        return []
    variable = "TURNFOLD_SEMANTIC_MODEL" if settings.semantic.model is not None else "TURNFOLD_SEMANTIC_EMBEDDING_MODEL"
    if not settings.store.keeps_originals:
        said = "recall uses only words: vectors are derived from text, and the store keeps no text"
        return [Finding("semantic", "note", said, f"unset {variable}, or let the store keep originals")]
    if not settings.folding.recall:
        advice = f"unset {variable}, or set TURNFOLD_RECALL=true"
        return [Finding("semantic", "note", "no vectors are computed, because recall is off", advice)]
    findings = [await (_local_vectors(settings) if settings.semantic.model is not None else _upstream_vectors(settings))]
    if findings[0].verdict != "fault" and (settings.store.url or "").startswith("memory:"):
        said = "recall by vectors is kept only in this process: another replica, or a restart, may recall something else"
        findings.append(Finding("semantic", "note", said, "set TURNFOLD_STORE_URL to a persistent store"))
    return findings


async def _local_vectors(settings: Settings) -> Finding:
    started = time.perf_counter()
    try:
        encoder = await asyncio.to_thread(open_local, settings.semantic)
        opened = time.perf_counter()
        await encoder.encode([_KNOWN_TEXT], encoder.trial())
    except EncoderFailed as exc:
        return Finding("semantic", "fault", f"recall uses only words: {exc}", "check TURNFOLD_SEMANTIC_MODEL")
    took = 1000 * (time.perf_counter() - opened)
    found = f"recall uses {encoder.name}: opened in {opened - started:.1f} s, {took:.0f} ms for a short text"
    return Finding("semantic", "ok", f"{found}; texts in {_languages(settings)}")


async def _upstream_vectors(settings: Settings) -> Finding:
    """Try one short text; a client's key cannot be tried here."""
    semantic = settings.semantic
    try:
        encoder = UpstreamEncoder(settings, None)
    except (InvalidInput, SettingsError) as exc:
        return Finding("semantic", "fault", str(exc), "`turnfold serve` will not start with it")
    if encoder.only_while_served:
        return Finding("semantic", "note", f"recall uses {encoder.label}, with each client's own key: not tested")
    if not encoder.has_key:
        keys = "TURNFOLD_SEMANTIC_API_KEY or TURNFOLD_UPSTREAM_API_KEY, or TURNFOLD_SEMANTIC_USE_CLIENT_KEY=true"
        return Finding("semantic", "fault", f"recall uses only words: there is no key for {encoder.label}", f"set {keys}")
    started = time.perf_counter()
    try:
        async with encoder.running():
            await encoder.encode([_KNOWN_TEXT], encoder.trial())
    except EncoderFailed as exc:
        advice = "check TURNFOLD_SEMANTIC_EMBEDDING_MODEL, its key and TURNFOLD_SEMANTIC_URL"
        return Finding("semantic", "fault", f"recall uses only words: {exc}", advice)
    took = time.perf_counter() - started
    found = f"recall uses {encoder.label}: {1000 * took:.0f} ms for a short text, {encoder.dimension} dimensions; texts in"
    found = f"{found} {_languages(settings)}; at most ${semantic.dollars_per_day:.2f} a day"
    if took > semantic.patience:
        return Finding("semantic", "note", f"{found}; too slow for a question now", "raise TURNFOLD_SEMANTIC_TIMEOUT")
    return Finding("semantic", "ok", found)


def _languages(settings: Settings) -> str:
    return "all languages" if settings.semantic.knows is None else " and ".join(sorted(settings.semantic.knows))


_LOOKS: Final[tuple[Callable[[LoadedSettings], Awaitable[list[Finding]]], ...]] = (
    _settings,
    _network,
    _lexicon,
    _address,
    _upstreams,
    _store,
    _semantic,
    _windows,
    _vocabularies,
    _prices,
    _versions,
)


async def examine(loaded: LoadedSettings) -> list[Finding]:
    """Every finding, in the order of the parts."""
    return [finding for look in _LOOKS for finding in await look(loaded)]
