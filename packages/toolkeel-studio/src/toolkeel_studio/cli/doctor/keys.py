"""Which vendors' keys the environment has; their values are never shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from toolkeel.providers.chat_servers import PRESETS
from toolkeel.providers.default_model import HOSTED
from toolkeel_studio.cli.doctor.section import Check, Section


def check_keys() -> Section:
    """Check each vendor of ``auto``, in its order, and each other vendor whose key is set."""
    checks = [_check(one.vendor, one.keys) for one in HOSTED]
    others = [_check(*one) for one in _other_vendors()]
    checks += [check for check in others if check.state != "missing"]
    absent = [check.name for check in others if check.state == "missing"]
    if absent:
        checks.append(Check("others", "missing", f"no key for {', '.join(absent)}"))
    return Section("Keys", checks)


def _other_vendors() -> Iterator[tuple[str, tuple[str, ...]]]:
    listed_keys = {keys for one in HOSTED for keys in one.keys}
    for vendor, preset in PRESETS.items():
        if preset.keys and not listed_keys.issuperset(preset.keys):
            listed_keys.update(preset.keys)
            yield vendor, preset.keys
    yield "bedrock", ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK")


def _check(vendor: str, names: tuple[str, ...]) -> Check:
    found = [name for name in names if os.environ.get(name)]
    if not found:
        return Check(vendor, "missing", f"no {' or '.join(names)}", data={"set": []})
    for name in found:
        key = os.environ[name]
        if key != key.strip().strip("'\""):
            fix = f"set {name} again, without spaces, line ends and quotes around it"
            text = f"{name} is set, with spaces or quotes around it"
            return Check(vendor, "problem", text, fix, {"set": found})
    return Check(vendor, "ok", f"{', '.join(found)} set", data={"set": found})
