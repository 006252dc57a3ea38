"""The prompts of the engine.

Every sentence that a clarify may show. They are interface strings: clients compare them exactly, so a change of one changes the
contract. `machine` decides when one is shown.
"""

from __future__ import annotations

from typing import Final

PREMISE_ALREADY_SET: Final = "Premise already set.\nUse 'change premise to <value>' to modify it."
PREMISE_NOT_SET: Final = "No premise is set.\nUse 'set premise <value>' to define one."
REPLACEMENT_HALF: Final = (
    "Replacement requires both new and old items.\nUse 'use <new item> instead of <old item>' with non-empty values."
)


def premise_blank(directive: str) -> str:
    """`directive` is "set premise" or "change premise to"."""
    return f"Premise value cannot be empty.\nUse '{directive} <value>' with a non-empty value."


def item_blank(directive: str) -> str:
    """`directive` is "use", "prohibit" or "remove policy"."""
    return f"Policy item cannot be empty.\nUse '{directive} <item>' with a non-empty value."


def did_you_mean(directive: str) -> str:
    """For a near miss; `directive` is the whole corrected line."""
    return f"Did you mean '{directive}'?"


def use_of_prohibited(key: str) -> str:
    """For ``use`` of an item that is prohibited."""
    return f'"{key}" is currently prohibited.\nRemove or replace it before using it.'


def prohibit_of_used(key: str) -> str:
    """For ``prohibit`` of an item that is in use."""
    return f'"{key}" is currently in use.\nRemove or replace it before prohibiting it.'


def replace_absent(new: str) -> str:
    """For a replacement whose old item has no policy."""
    return f'Did you mean to use "{new}" instead?'


def replace_prohibited_old(new: str, old: str) -> str:
    """For a replacement whose old item is prohibited."""
    return f'"{old}" is currently prohibited. Did you mean to remove it and use "{new}" instead?'


def replace_prohibited_new(new: str, old: str) -> str:
    """For a replacement whose new item is prohibited."""
    return f'"{new}" is currently prohibited. Did you mean to remove "{old}" and use "{new}" instead?'
