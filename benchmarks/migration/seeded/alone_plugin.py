"""For tests of other libraries: what their settings would say, without their settings."""

import os
import sys

WITHOUT = tuple(os.environ.get("MIGRATION_WITHOUT", "").split())


class _Without:
    """Finds none of the libraries that the tests were written for."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in WITHOUT:
            raise ModuleNotFoundError(f"{name} is not here", name=name)


if WITHOUT:
    sys.meta_path.insert(0, _Without())


def pytest_configure(config):
    for mark in ("requires", "compile", "scheduled", "serial", "review_optional", "vcr"):
        config.addinivalue_line("markers", f"{mark}: of theirs")
    config.addinivalue_line("markers", "allow_call_model_methods: of theirs")
