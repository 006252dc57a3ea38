"""The engine's public face.

Lives here: the names that a program outside is meant to use. Does not belong here: anything else; inside the engine nobody
imports from here.
"""

from turnfold.compression.errors import InvalidInput, TurnfoldError
from turnfold.compression.flows.layers import compress_text
from turnfold.compression.flows.roundtrip import compress
from turnfold.compression.flows.summarizers import create_escalating_summarizer, create_summarizer
from turnfold.compression.fold import Folded, fold_request, unfold
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.roundtrip.option_types import CompressOptionsDict
from turnfold.compression.roundtrip.provenance import strip_provenance
from turnfold.compression.roundtrip.uncompress_messages import uncompress
from turnfold.compression.roundtrip.values import Compressed, CompressOptions, Uncompressed, default_token_counter

__all__ = [
    "CompressOptions",
    "CompressOptionsDict",
    "CompressRequest",
    "Compressed",
    "Compressor",
    "FoldOptions",
    "Folded",
    "InvalidInput",
    "Memo",
    "TurnfoldError",
    "Uncompressed",
    "compress",
    "compress_text",
    "create_escalating_summarizer",
    "create_summarizer",
    "default_token_counter",
    "fold_request",
    "strip_provenance",
    "uncompress",
    "unfold",
]
