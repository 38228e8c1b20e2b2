"""Taint labels of values in a store: of the run that stored a value, passed on to the run that reads it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from toolkeel._records.taint_sources import CALLER, Source
from toolkeel.call.enclosing_run import find_enclosing
from toolkeel.call.steps.label_sources import record_source

MOST_SOURCES = 20
"""Sources of each label that are stored with a value: the last ones."""


def labels_to_store() -> tuple[Source, ...]:
    """Return the taint labels to store with a value: those of the enclosing run.

    Attachments of this run's caller lose that origin, as they may be a stranger's for another caller.
    """
    enclosing = find_enclosing()
    taint = None if enclosing is None else enclosing[0].taint
    found: dict[str, dict[Source, None]] = {}
    for source in reversed(taint.sources if taint is not None else ()):
        of_label = found.setdefault(source.label, {})
        if len(of_label) < MOST_SOURCES:
            is_own = source.origin == CALLER
            of_label[dataclasses.replace(source, origin="") if is_own else source] = None
    return tuple(source for of_label in found.values() for source in of_label)


def record_stored_labels(sources: Iterable[Source]) -> None:
    """Add the labels of values that were read to the enclosing run. Do nothing without one."""
    enclosing = find_enclosing()
    if enclosing is not None:
        run, context = enclosing
        for source in dict.fromkeys(sources):
            record_source(run, source, "" if context is None else context.call.id)
