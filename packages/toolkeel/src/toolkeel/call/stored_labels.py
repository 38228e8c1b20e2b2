"""Taint labels of values in a store: of the run that stored a value, passed on to the run that reads it."""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel._records.taint_sources import Source
from toolkeel.call.enclosing_run import find_enclosing
from toolkeel.call.steps.label_sources import as_read_by_others, record_source


def labels_to_store() -> tuple[Source, ...]:
    """Return the taint labels to store with a value: the enclosing run's, `as_read_by_others`; () without a run."""
    enclosing = find_enclosing()
    taint = None if enclosing is None else enclosing[0].taint
    return as_read_by_others(taint.sources if taint is not None else ())


def record_stored_labels(sources: Iterable[Source]) -> None:
    """Add the labels of values that were read to the enclosing run. Do nothing outside any run."""
    enclosing = find_enclosing()
    if enclosing is not None:
        run, context = enclosing
        for source in dict.fromkeys(sources):
            record_source(run, source, context)
