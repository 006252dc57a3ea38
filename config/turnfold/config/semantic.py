"""Settings of recall by sentence vectors (the extra ``turnfold[semantic]``).

Lives here: this one group. Does not belong here: loading a model, the other groups (``settings``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class SemanticSettings(BaseModel):
    """Sentence vectors beside the words in recall (needs the extra turnfold[semantic])."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Sentence-embedding model in ONNX format: a file, a directory with model.onnx, or the name of an"
            " installed package that contains one. Unset: recall goes by words alone.",
        ),
    ] = None
    tokenizer: Annotated[
        Path | None, Field(description="Its tokenizer.json. Default: the file of that name next to the model.")
    ] = None
    languages: Annotated[
        Literal["english", "all"],
        Field(description="Languages that the model knows. Texts in other languages are recalled by words alone."),
    ] = "english"
    timeout: Annotated[
        float,
        Field(gt=0, le=5, description="Seconds that a request waits for its question's vector; after that, words alone decide."),
    ] = 0.2
    cpu_share: Annotated[
        float, Field(gt=0, le=1, description="Share of one CPU core that making vectors in the background may take.")
    ] = 0.5
    bytes_per_conversation: Annotated[
        int, Field(ge=0, description="Maximum size of the vectors of one conversation, in bytes; its oldest messages come first.")
    ] = 4 * 2**20

    @property
    def is_on(self) -> bool:
        """Whether a model is set."""
        return self.model is not None
