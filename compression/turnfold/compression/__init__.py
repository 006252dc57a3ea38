"""The engine's public face: the names that a program outside is meant to use.

Inside the engine nobody imports from here. Each name is loaded when it is first used: every import of a module below this package
runs this file first, and the command line must not wait for the whole engine before it prints a version.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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

#: The module of this package that defines each name.
_HOMES: Final = MappingProxyType(
    {
        "CompressOptions": "roundtrip.values",
        "CompressOptionsDict": "roundtrip.option_types",
        "CompressRequest": "layers",
        "Compressed": "roundtrip.values",
        "Compressor": "layers",
        "FoldOptions": "options",
        "Folded": "fold",
        "InvalidInput": "errors",
        "Memo": "memo",
        "TurnfoldError": "errors",
        "Uncompressed": "roundtrip.values",
        "compress": "flows.roundtrip",
        "compress_text": "flows.layers",
        "create_escalating_summarizer": "flows.summarizers",
        "create_summarizer": "flows.summarizers",
        "default_token_counter": "roundtrip.values",
        "fold_request": "fold",
        "strip_provenance": "roundtrip.provenance",
        "uncompress": "roundtrip.uncompress_messages",
        "unfold": "fold",
    }
)

if not TYPE_CHECKING:  # type checkers read the imports above, and report names that do not exist

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
