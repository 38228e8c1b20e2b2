"""Exit codes: told apart, and told the same way wherever they are listed."""

from __future__ import annotations

import re

from toolkeel.cli import exits


def test_every_code_is_its_own_and_is_listed_where_help_ends() -> None:
    codes = [exits.OK, exits.FAILED, exits.USAGE, exits.SETUP, exits.SUSPENDED, exits.INTERRUPTED]
    listed = [int(number) for number in re.findall(r"\b\d+\b", exits.EPILOG)]
    assert sorted(listed) == sorted(set(codes))
    assert len(set(codes)) == len(codes)
