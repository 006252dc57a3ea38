"""A conversation kept within a token budget (rows C8 and C9), as values: the public face of this package."""

from turnfold.compression.budgeted.exports import ImportedHistory, export_history, read_export
from turnfold.compression.budgeted.history import (
    Action,
    Block,
    History,
    HistoryMessage,
    HistorySettings,
    SearchHit,
    add,
    block_id,
    drill_down,
    search,
)
from turnfold.compression.budgeted.statement_index import StatementIndex
from turnfold.compression.budgeted.telling import Context, context

__all__ = [
    "Action",
    "Block",
    "Context",
    "History",
    "HistoryMessage",
    "HistorySettings",
    "ImportedHistory",
    "SearchHit",
    "StatementIndex",
    "add",
    "block_id",
    "context",
    "drill_down",
    "export_history",
    "read_export",
    "search",
]
