"""Conversation state that the user owns: directives, engine, checkpoints, and the state's place in a conversation.

This package lists its public names. `machine` is the pure heart, `engine` and `controller` are the contract's interface; `guard`,
`placement` and `block` are the proxy's side of it.
"""

from turnfold.compression.state.block import acknowledgement, render_block
from turnfold.compression.state.controller import preview, state_diff, step
from turnfold.compression.state.decisions import (
    DECISION_CLARIFY,
    DECISION_PASSTHROUGH,
    DECISION_UPDATE,
    POLICY_PROHIBIT,
    POLICY_USE,
    DecisionDict,
    get_clarify_prompt,
    get_decision_state,
    get_policy_items,
    get_premise_value,
    is_clarify,
    is_passthrough,
    is_update,
)
from turnfold.compression.state.draft import DirectiveDraft, draft_steps, render_prompt
from turnfold.compression.state.engine import Engine, create_engine
from turnfold.compression.state.guard import Certainty, certainty, why_ordinary
from turnfold.compression.state.machine import Machine, State
from turnfold.compression.state.placement import (
    Pin,
    Placement,
    StateMode,
    StateOptions,
    Turn,
    Verdict,
    place,
    turn_of,
)
from turnfold.compression.state.preprocessor import (
    PREPROCESS_OUTCOME_DIRECTIVE,
    PREPROCESS_OUTCOME_NO_DIRECTIVE,
    PREPROCESS_OUTCOME_UNKNOWN,
    PREPROCESSOR_NO_DIRECTIVE_SENTINEL,
    PreprocessOutcome,
    PreprocessResult,
    parse_preprocessor_output,
    preprocess,
    preprocess_heuristic,
    validate_preprocessor_output,
)
from turnfold.compression.state.record import Record, RecordUnreadable, read_record
from turnfold.compression.state.serial import CheckpointDict, StateDict
from turnfold.compression.state.transcript import ApplyResult, Transcript, TranscriptMessage, compile_transcript

__all__ = [
    "DECISION_CLARIFY",
    "DECISION_PASSTHROUGH",
    "DECISION_UPDATE",
    "POLICY_PROHIBIT",
    "POLICY_USE",
    "PREPROCESSOR_NO_DIRECTIVE_SENTINEL",
    "PREPROCESS_OUTCOME_DIRECTIVE",
    "PREPROCESS_OUTCOME_NO_DIRECTIVE",
    "PREPROCESS_OUTCOME_UNKNOWN",
    "ApplyResult",
    "Certainty",
    "CheckpointDict",
    "DecisionDict",
    "DirectiveDraft",
    "Engine",
    "Machine",
    "Pin",
    "Placement",
    "PreprocessOutcome",
    "PreprocessResult",
    "Record",
    "RecordUnreadable",
    "State",
    "StateDict",
    "StateMode",
    "StateOptions",
    "Transcript",
    "TranscriptMessage",
    "Turn",
    "Verdict",
    "acknowledgement",
    "certainty",
    "compile_transcript",
    "create_engine",
    "draft_steps",
    "get_clarify_prompt",
    "get_decision_state",
    "get_policy_items",
    "get_premise_value",
    "is_clarify",
    "is_passthrough",
    "is_update",
    "parse_preprocessor_output",
    "place",
    "preprocess",
    "preprocess_heuristic",
    "preview",
    "read_record",
    "render_block",
    "render_prompt",
    "state_diff",
    "step",
    "turn_of",
    "validate_preprocessor_output",
    "why_ordinary",
]
