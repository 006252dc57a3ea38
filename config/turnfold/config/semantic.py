"""Settings of recall by sentence vectors.

Only this group; the others are in ``settings``. Models are loaded and called in ``proxy.semantic``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from turnfold.config.group import SettingsGroup
from turnfold.config.values import http_url, sent_secret

_LOCAL_PATIENCE: Final = 0.2
_UPSTREAM_PATIENCE: Final = 0.5
#: Dimensions of OpenAI's models, and whether a request may ask for fewer (OpenAI, API reference: ``dimensions`` is
#: supported in text-embedding-3 and later models).
_KNOWN_SIZES: Final = {
    "text-embedding-3-small": (1536, True),
    "text-embedding-3-large": (3072, True),
    "text-embedding-ada-002": (1536, False),
}


class SemanticSettings(SettingsGroup):
    """Sentence vectors for recall, from a model on this machine or from the upstream."""

    model: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Sentence-embedding model in ONNX format (needs the semantic extra): a file, a directory with"
            " model.onnx, or the name of an installed package that contains one. If unset, recall uses only words.",
        ),
    ] = None
    tokenizer: Annotated[
        Path | None, Field(description="Its tokenizer.json. Default: the file of that name next to the model.")
    ] = None
    embedding_model: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="Name of a model of the upstream's /v1/embeddings, instead of TURNFOLD_SEMANTIC_MODEL. Its price must be"
            " known, or be given in TURNFOLD_MODELS.",
        ),
    ] = None
    url: Annotated[
        Annotated[str, AfterValidator(http_url)] | None,
        Field(
            description="Base URL for /v1/embeddings; it receives text of every conversation. Default:"
            " TURNFOLD_UPSTREAM_URL, and only for conversations that go there."
        ),
    ] = None
    api_key: Annotated[
        Annotated[SecretStr, AfterValidator(sent_secret)] | None,
        Field(description="Key for TURNFOLD_SEMANTIC_URL. Default if that URL is unset: the key of the upstream."),
    ] = None
    use_client_key: Annotated[
        bool,
        Field(
            description="If true and you have set no key, a client's own key pays for vectors of its own text: only while its"
            " request is served, only at the host that the key was sent to, and it is never kept."
        ),
    ] = False
    dimensions: Annotated[
        int | None,
        Field(
            ge=8,
            le=8192,
            description="Number of dimensions to request, if the model lets you choose. Default: the model's own.",
        ),
    ] = None
    batch: Annotated[
        int, Field(ge=1, le=2048, description="Maximum number of passages per call to /v1/embeddings; OpenAI accepts 2048.")
    ] = 256
    dollars_per_day: Annotated[
        float,
        Field(ge=0, description="Maximum spent on /v1/embeddings per day (UTC), in dollars. After that, recall uses only words."),
    ] = 1.0
    languages: Annotated[
        Literal["english", "all"] | None,
        Field(
            description="Languages that the model knows. For texts in other languages, recall uses only words. Default: english"
            " for TURNFOLD_SEMANTIC_MODEL, all for TURNFOLD_SEMANTIC_EMBEDDING_MODEL."
        ),
    ] = None
    timeout: Annotated[
        float | None,
        Field(
            gt=0,
            le=5,
            description="Maximum time that a request waits for its question's vector, in seconds. After that, recall uses"
            " only words. Default:"
            f" {_LOCAL_PATIENCE} for a model on this machine, {_UPSTREAM_PATIENCE} for the upstream's.",
        ),
    ] = None
    cpu_share: Annotated[
        float, Field(gt=0, le=1, description="Maximum share of one CPU core for computing vectors in the background.")
    ] = 0.5
    bytes_per_conversation: Annotated[
        int, Field(ge=0, description="Maximum size of the vectors of one conversation, in bytes. Its oldest messages come first.")
    ] = 4 * 2**20

    @property
    def is_on(self) -> bool:
        """Whether a model is set."""
        return self.model is not None or self.embedding_model is not None

    @property
    def knows(self) -> frozenset[str] | None:
        """Languages that the model knows, as the stemmer names them; None: all."""
        languages = self.languages or ("english" if self.model is not None else "all")
        return None if languages == "all" else frozenset({languages})

    @property
    def patience(self) -> float:
        """Seconds that a request waits for its question's vector."""
        return self.timeout or (_LOCAL_PATIENCE if self.model is not None else _UPSTREAM_PATIENCE)

    @model_validator(mode="after")
    def _one_model(self) -> SemanticSettings:
        if self.model is not None and self.embedding_model is not None:
            raise ValueError("TURNFOLD_SEMANTIC_MODEL and TURNFOLD_SEMANTIC_EMBEDDING_MODEL are both set: set one of them")
        if self.tokenizer is not None and self.model is None:
            raise ValueError("TURNFOLD_SEMANTIC_TOKENIZER is set: it needs TURNFOLD_SEMANTIC_MODEL")
        return self

    @model_validator(mode="after")
    def _allowed_dimensions(self) -> SemanticSettings:
        name = (self.embedding_model or "").rpartition("/")[2].lower()
        most, can_be_chosen = _KNOWN_SIZES.get(name, (None, True))
        if self.dimensions is None or most is None or (can_be_chosen and self.dimensions <= most):
            return self
        allowed = f"at most {most} dimensions" if can_be_chosen else f"{most} dimensions, which cannot be chosen"
        raise ValueError(f"TURNFOLD_SEMANTIC_DIMENSIONS is {self.dimensions}, but {name} has {allowed}")
