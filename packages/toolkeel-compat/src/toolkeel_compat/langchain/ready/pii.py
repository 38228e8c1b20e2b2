"""Personal data in messages is replaced, masked, hashed or refused, under LangChain's names."""

from __future__ import annotations

import dataclasses
import hashlib
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, get_args

from toolkeel.content import Text
from toolkeel_compat.langchain.history import REMOVE_ALL_MESSAGES, RemoveMessage
from toolkeel_compat.langchain.messages import AIMessage, HumanMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware

Strategy = Literal["block", "redact", "mask", "hash"]
__all__ = [
    "PIIDetectionError", "PIIMatch", "PIIMiddleware", "detect_credit_card", "detect_email",
    "detect_ip", "detect_mac_address", "detect_url",
]  # fmt: skip


class PIIMatch(TypedDict):
    """A place of personal data in a text."""

    type: str
    value: str
    start: int
    end: int


class PIIDetectionError(Exception):
    """A text has personal data of a kind that is refused.

    Args:
        pii_type: The kind.
        matches: Where it is.
    """

    def __init__(self, pii_type: str, matches: Sequence[PIIMatch]) -> None:
        self.pii_type, self.matches = pii_type, list(matches)
        super().__init__(f"Detected {len(matches)} instance(s) of {pii_type} in text content")


def _make_detector(
    kind: str,
    pattern: str,
    accept: Callable[[str], bool] = lambda value: True,
    group: int = 0,
) -> Callable[[str], list[PIIMatch]]:
    """Return a function that finds what a pattern's group matches and a predicate accepts."""
    known = re.compile(pattern)

    def detect(content: str) -> list[PIIMatch]:
        return [
            PIIMatch(type=kind, value=one[group], start=one.start(group), end=one.end(group))
            for one in known.finditer(content)
            if accept(one[group])
        ]

    detect.__doc__ = f"Return the places of kind ``{kind}`` in a text."
    return detect


def _has_check_digit(number: str) -> bool:
    """Return True if the last digit of a card's number is the one that the others give (Luhn)."""
    digits = [int(one) for one in number if one.isdigit()][::-1]
    doubled = [sum(divmod(2 * one, 10)) for one in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# Each pattern is tried once at a chain of names, not again at each of its names: a text of 40 kB that is
# one chain takes no longer than any other.
detect_email = _make_detector(
    "email",
    r"(?<![\w.%+-])[.%+-]*+([\w.%+-]++@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b)",
    group=1,
)
detect_credit_card = _make_detector("credit_card", r"\b(?:\d{4}[\s-]?){3}\d{4}\b", _has_check_digit)
detect_ip = _make_detector("ip", r"\b(?:\d{1,3}\.){3}\d{1,3}\b", _is_address)
detect_mac_address = _make_detector("mac_address", r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_LABEL: Final = "[A-Za-z0-9]++(?:--?[A-Za-z0-9]++)*+"
_CHAIN_START: Final = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][.-])(?<![A-Za-z0-9]--)"
detect_url = _make_detector(
    "url",
    r"https?://[^\s<>\"{}|\\^`\[\]]+|"
    rf"\bwww\.{_LABEL}(?:\.{_LABEL})++(?:/\S*)?|{_CHAIN_START}{_LABEL}(?:\.{_LABEL})++/\S*",
)
_DETECTORS: Mapping[str, Callable[[str], list[PIIMatch]]] = {
    "email": detect_email,
    "credit_card": detect_credit_card,
    "ip": detect_ip,
    "mac_address": detect_mac_address,
    "url": detect_url,
}


class PIIMiddleware(AgentMiddleware):
    """Replaces personal data of one kind in messages before the model reads them; the thread has the rest.

    Args:
        pii_type: ``email``, ``credit_card``, ``ip``, ``mac_address``, ``url``, or a name of your own.
        strategy: ``redact`` writes the kind in its place, ``mask`` shows its end, ``hash`` writes a hash,
            ``block`` raises `PIIDetectionError`.
        detector: A pattern, or a function that returns places in a text; needed for a name of your own.
        apply_to_input: For the last message of the user.
        apply_to_output: For replies, once they are complete.
        apply_to_tool_results: For results of the last calls.

    Raises:
        ValueError: There is no such kind or strategy.
    """

    def __init__(
        self,
        pii_type: str,
        *,
        strategy: Strategy = "redact",
        detector: Callable[[str], Sequence[Any]] | str | None = None,
        apply_to_input: bool = True,
        apply_to_output: bool = False,
        apply_to_tool_results: bool = False,
    ) -> None:
        if detector is None and pii_type not in _DETECTORS:
            raise ValueError(
                f"Unknown PII type: {pii_type}. Must be one of {[*_DETECTORS]} or provide a custom "
                "detector."
            )
        if strategy not in get_args(Strategy):
            raise ValueError(f"Unknown redaction strategy: {strategy}")
        self.pii_type, self.strategy = pii_type, strategy
        if isinstance(detector, str):
            detector = _make_detector(pii_type, detector)
        self.detector = detector or _DETECTORS[pii_type]
        self.apply_to_input, self.apply_to_output = apply_to_input, apply_to_output
        self.apply_to_tool_results = apply_to_tool_results

    @property
    def name(self) -> str:
        """The display name."""
        return f"{super().name}[{self.pii_type}]"

    def before_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:
        """Return the messages without personal data; None if there is none."""
        messages = list(state["messages"])
        changed = False
        for place in self._list_places(messages):
            content = self._clean(messages[place].content)
            if content != messages[place].content:
                messages[place] = dataclasses.replace(messages[place], content=content)
                changed = True
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]} if changed else None

    def after_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:
        """Return the reply without personal data; None if there is none."""
        reply = state["messages"][-1]
        if not self.apply_to_output or not isinstance(reply, AIMessage):
            return None
        content = self._clean(reply.content)
        if content == reply.content:
            return None
        return {"messages": [dataclasses.replace(reply, content=content)]}

    def _list_places(self, messages: Sequence[Any]) -> Iterator[int]:
        """Yield where the messages are that are looked at before a request."""
        spoken = [n for n, one in enumerate(messages) if isinstance(one, HumanMessage)]
        replied = [n for n, one in enumerate(messages) if isinstance(one, AIMessage)]
        if self.apply_to_input:
            yield from spoken[-1:]
        if self.apply_to_tool_results and replied:
            for n in range(replied[-1] + 1, len(messages)):
                if isinstance(messages[n], ToolMessage):
                    yield n

    def _clean(self, content: Any) -> Any:
        """Return a content without personal data in its texts."""
        if isinstance(content, str):
            return self._clean_text(content)
        return type(content)(
            dataclasses.replace(one, text=self._clean_text(one.text))
            if isinstance(one, Text)
            else one
            for one in content
        )

    def _clean_text(self, text: str) -> str:
        """Return a text without personal data.

        Raises:
            PIIDetectionError: There is some, and it is refused.
        """
        matches: list[PIIMatch] = [
            PIIMatch(
                type=one.get("type", self.pii_type),
                value=one.get("value", one.get("text", "")),
                start=one["start"],
                end=one["end"],
            )
            for one in self.detector(text)
        ]
        if matches and self.strategy == "block":
            raise PIIDetectionError(matches[0]["type"], matches)
        for one in sorted(matches, key=lambda match: match["start"], reverse=True):
            text = text[: one["start"]] + self._replace(one) + text[one["end"] :]
        return text

    def _replace(self, match: PIIMatch) -> str:
        """Return what stands in place of personal data."""
        kind, value = match["type"], match["value"]
        if self.strategy == "redact":
            return f"[REDACTED_{kind.upper()}]"
        if self.strategy == "hash":
            return f"<{kind}_hash:{hashlib.sha256(value.encode()).hexdigest()[:8]}>"
        mask = _MASKS.get(kind)
        return mask(value) if mask else f"****{value[-4:]}" if len(value) > 4 else "****"


def _mask_email(value: str) -> str:
    name, _, domain = value.partition("@")
    return f"{name}@****.{domain.rpartition('.')[2]}" if "." in domain else f"{name}@****"


def _mask_card(value: str) -> str:
    end = re.sub(r"\D", "", value)[-4:]
    gap = "-" if "-" in value else " " if " " in value else ""
    return gap.join(["****"] * 3 + [end])


def _mask_mac(value: str) -> str:
    gap = ":" if ":" in value else "-"
    return gap.join(["**"] * 5 + [value[-2:]])


_MASKS: Mapping[str, Callable[[str], str]] = {
    "email": _mask_email,
    "credit_card": _mask_card,
    "ip": lambda value: f"*.*.*.{value.rpartition('.')[2]}",
    "mac_address": _mask_mac,
    "url": lambda value: "[MASKED_URL]",
}
