"""Exit codes: told apart, and told the same way wherever they are listed."""

from __future__ import annotations

import re

from toolkeel_studio.cli import exit_codes


def test_every_code_is_its_own_and_is_listed_where_help_ends() -> None:
    codes = [
        exit_codes.OK,
        exit_codes.FAILED,
        exit_codes.USAGE,
        exit_codes.SETUP,
        exit_codes.SUSPENDED,
        exit_codes.INTERRUPTED,
        exit_codes.UNREAD,
        exit_codes.TERMINATED,
    ]
    listed = [int(number) for number in re.findall(r"\b\d+\b", exit_codes.EPILOG)]
    assert sorted(listed) == sorted(set(codes))
    assert len(set(codes)) == len(codes)
