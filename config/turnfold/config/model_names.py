"""How clients, gateways and clouds write a model's name, and the names to look it up by.

This module works on names alone: no prices, no price list. A name is reduced from the particular to the general: as written,
without the prefixes of gateways and clouds, without a date or tag, and finally to its family, dropping one dash-separated part
after another.

- Gateways put the provider in front: ``openrouter/anthropic/claude-sonnet-4.5``, ``azure/gpt-4o`` (docs.litellm.ai, "Providers").
- Bedrock: ``us.anthropic.claude-sonnet-4-5-20250929-v1:0``, or an ARN that ends with that (docs.aws.amazon.com, "Supported
  foundation models", "Inference profiles").
- Vertex: ``claude-sonnet-4@20250514``, or a path that ends with that (cloud.google.com, "Claude on Vertex AI").
- OpenRouter: ``openai/gpt-4o:nitro`` (openrouter.ai/docs, "Model variants").
- Fine-tuned at OpenAI: ``ft:gpt-4.1-mini-2025-04-14:org::id``.
- Ollama: ``deepseek-r1:14b``. Such a tag names a file of weights, so it is not dropped: whoever serves these weights, it is not
  the maker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

_MAX_NAME: Final = 200
_TUNED: Final = "ft:"
_FREE: Final = ":free"
# Dates and tags: gpt-4o-2024-08-06, claude-sonnet-4-5-20250929, gpt-4-0613, gemini-2.5-pro-preview-05-06, x:nitro, x@latest.
_TAG: Final = re.compile(
    r"(?:-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|(?:preview|exp)(?:-\d{2}-\d{2})?|latest)|@[\w.-]*|\[1m\]"
    r"|:(?:free|nitro|floor|exacto|online|thinking|beta|extended|\d{1,2}(?::\d{1,4}k)?))$"
)
_ANY_TAG: Final = re.compile(r"[:@][\w.-]*$")
# Bedrock's names, which gateways pass on: an optional region, the maker, the model.
_BEDROCK: Final = re.compile(r"(?:[a-z]{2,6}(?:-[a-z]+)?\.)?[a-z0-9]{2,20}\.[a-z][a-z0-9]*-")
_BEDROCK_VERSION: Final = re.compile(r"-v\d+(?::\d+)?(?::\d+k)?$")
_MAKER_ON_BEDROCK: Final = re.compile(r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?[a-z0-9]{2,20}\.(?=[a-z])")

#: Prefixes of gateways for servers that the user runs: their models have no list price.
_OWN_SERVERS: Final = frozenset(
    ("ollama", "ollama_chat", "hosted_vllm", "vllm", "lm_studio", "llamafile", "xinference", "triton", "docker_model_runner")
)
#: Prefixes of gateways -> the price list's name of the provider, where the two differ (docs.litellm.ai, "Providers").
_PROVIDERS: Final[Mapping[str, str]] = {
    "azure_ai": "azure",
    "bedrock": "aws",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "github_copilot": "github-copilot",
    "moonshot": "moonshotai",
    "together_ai": "together",
    "vertex_ai": "google",
    "xai": "x-ai",
}
#: Weights that anyone may serve, under names by which their makers don't sell them: the maker's price says nothing.
_OPEN_WEIGHTS: Final = re.compile(
    r"gpt-oss|gemma-|kimi-k2$|mi[sx]tral-(?:7b|8x\d+b|nemo|small-\d|large-instruct)|pixtral-12b"
    r"|deepseek-(?:r1|v3|coder|llm|(?:chat|reasoner)-)"
)
#: Weights that their makers sell under the names by which others serve them; and the prefixes of those makers.
_ALSO_SERVED: Final = re.compile(
    r"deepseek-(?!(?:chat|reasoner)$)|glm-|kimi-|minimax-|(?:dev|mini|magi)stral-|mistral-(?:small|medium-3|large-2512)"
)
_MAKERS: Final = frozenset(("deepseek", "minimax", "mistral", "moonshot", "zai"))

#: Parts of a name behind the model's that don't change the price.
_SAME_PRICE: Final = re.compile(
    r"v?\d[\d.]*|chat|codex|max|search|preview|exp|experimental|latest|beta|instruct|it|turbo|fp8|vision|customtools|multi|agent"
    r"|non|reasoning|thinking|none|minimal|low|medium|high|xhigh"
)

#: Provider -> aliases and the models that they stand for, where the price list still has an earlier one or none.
#: DeepSeek's since 2026-04-24, by public reports of its users; Mistral's as in LiteLLM's price list, November 2026.
_MOVED: Final[Mapping[str, Mapping[str, str]]] = {
    "deepseek": {"deepseek-chat": "deepseek-v4-flash", "deepseek-reasoner": "deepseek-v4-flash"},
    "mistral": {
        "codestral-latest": "codestral-2508",
        "devstral-latest": "devstral-2512",
        "devstral-medium-latest": "devstral-2512",
        "magistral-medium-latest": "mistral-medium-latest",
        "magistral-small-latest": "mistral-small-latest",
        "ministral-3b-latest": "ministral-3b-2512",
        "ministral-14b-latest": "ministral-14b-2512",
        "mistral-large-3": "mistral-large-2512",
        "mistral-large-latest": "mistral-large-2512",
        "mistral-medium": "mistral-medium-latest",
    },
}


def plain_name(model: str) -> str:
    """A model's name in lower case."""
    return model.strip().lower()[:_MAX_NAME]


def is_tuned(model: str) -> bool:
    """Whether OpenAI tuned the model for a customer."""
    return _last_segment(model).startswith(_TUNED)


def is_free(model: str) -> bool:
    """Whether it is one of OpenRouter's free variants."""
    return plain_name(model).endswith(_FREE)


def is_on_bedrock(name: str) -> bool:
    """Whether a name is written as Bedrock writes it."""
    return _BEDROCK.match(name) is not None


def is_open_weights(name: str) -> bool:
    """Whether a name is one of weights that others than their maker serve."""
    return _OPEN_WEIGHTS.match(name) is not None


def is_derived(name: str, listed: str) -> bool:
    """Whether a name goes on behind a listed one in words that no provider uses for the same model: a tuned one, or a new one."""
    if is_tuned(name):  # the rest is the customer's
        return False
    parts, known = (_core(one).split("-") for one in (name, listed))
    return parts[: len(known)] == known and any(not _SAME_PRICE.fullmatch(part) for part in parts[len(known) :])


def is_hosted(model: str) -> bool:
    """Whether a name's prefixes say that somebody else than the maker serves the weights: at a price of his own."""
    prefixes = plain_name(model).split("/")[:-1]
    return _ALSO_SERVED.match(bare_name(model)) is not None and not _MAKERS.issuperset(prefixes)


def is_own_server(model: str) -> bool:
    """Whether a gateway's name says that the user serves the model."""
    return plain_name(model).partition("/")[0] in _OWN_SERVERS


def tuned_name(model: str) -> str:
    """The name of a tuned model, without providers' prefixes."""
    return _last_segment(model)


def bare_name(model: str) -> str:
    """A model's name in lower case, without providers' prefixes; of a tuned one, the name of the model that it was made from."""
    name = _last_segment(model)
    return name.removeprefix(_TUNED).partition(":")[0] if name.startswith(_TUNED) else name


def _last_segment(model: str) -> str:
    return plain_name(model).rsplit("/", 1)[-1]


def maker_name(model: str) -> str:
    """The same without what Bedrock puts in front."""
    return _MAKER_ON_BEDROCK.sub("", bare_name(model))


def candidates(model: str) -> Iterator[str]:
    """The names to look up, the most particular first."""
    name = plain_name(model)
    yield name
    while "/" in name:
        name = name.partition("/")[2]
        yield name
    name = bare_name(model)
    yield name
    while (shorter := _TAG.sub("", name)) != name:
        name = shorter
        yield name


def families(model: str) -> Iterator[str]:
    """The families that a model may belong to, the smallest first."""
    *_, name = candidates(model)
    untagged = _ANY_TAG.sub("", name)
    if untagged != name:
        yield (name := untagged)
    # A family has a version or a second word: "gpt" alone could be anything.
    while "-" in (name := name.rpartition("-")[0]):
        yield name


def providers(model: str) -> Iterator[str | None]:
    """The providers that a name's prefixes name, in the price list's words; None for whoever is known by the name."""
    for prefix in plain_name(model).split("/")[:-1]:
        yield _PROVIDERS.get(prefix, prefix)
    yield None


def current_name(name: str, provider: str) -> str:
    """The model that a provider's alias stands for today; the name itself if it is no alias."""
    return _MOVED.get(provider, {}).get(bare_name(name), name)


def is_same_model(one: str, other: str) -> bool:
    """Whether two names are one model's, written differently or with another date."""
    return _core(one) == _core(other)


def _core(model: str) -> str:
    name = _BEDROCK_VERSION.sub("", maker_name(model))
    *_, name = candidates(name)
    return name.replace(".", "-")
