"""The offline model's sentences, in two languages."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.slots import Slot
from toolkeel.providers.offline.words import Language

NOTE: dict[Language, str] = {
    "en": "offline model (rules only, no weights):",
    "zh": "离线模型（只有规则，没有权重）：",
}
"""First line of every answer: nobody shall take this for a language model."""

_SHOWN = 5


def no_tools(language: Language) -> str:
    """Nothing can be called at all."""
    if language == "zh":
        return "我自己不会回答问题，只会调用工具，而这里没有给我任何工具。"
    return "I cannot answer by myself, I only call tools, and I was given none."


def no_fit(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """No tool fits what was asked."""
    if language == "zh":
        return f"没有合适的工具能回答这个问题。我可以使用：\n{tool_list(language, tools)}"
    return f"None of my tools fits that. What I have:\n{tool_list(language, tools)}"


def hello(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """A greeting, and what can be done here."""
    if language == "zh":
        return f"你好！我可以使用这些工具：\n{tool_list(language, tools)}"
    return f"Hello! Ask me for something these tools can do:\n{tool_list(language, tools)}"


def welcome(language: Language) -> str:
    """An answer to thanks."""
    return "不客气。" if language == "zh" else "You are welcome."


def tool_list(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """Up to five tools, a line each."""
    lines = [f"- {tool.name}: {_first_sentence(tool.description)}" for tool in tools[:_SHOWN]]
    if len(tools) > _SHOWN:
        rest = len(tools) - _SHOWN
        lines.append(f"- 以及另外 {rest} 个" if language == "zh" else f"- and {rest} more")
    return "\n".join(line.rstrip(" :") for line in lines)


def _first_sentence(text: str | None) -> str:
    line = (text or "").strip().split("\n", 1)[0]
    end = min((i for i in (line.find(". "), line.find("。")) if i >= 0), default=len(line))
    return line[: end + 1].strip()[:160]


def ask(language: Language, tool: ToolDefinition, missing: Sequence[Slot]) -> str:
    """Ask for what is missing, by name."""
    if language == "zh":
        names = "、".join(_described(slot, "（", "）") for slot in missing)
        return f"要使用 {tool.name}，我还需要：{names}。请告诉我。"
    names = ", ".join(_described(slot, " (", ")") for slot in missing)
    return f"To use {tool.name} I need: {names}. Please tell me."


def _described(slot: Slot, opening: str, closing: str) -> str:
    about = _first_sentence(slot.description).rstrip(".。")
    return f"{slot.name}{opening}{about}{closing}" if about else slot.name


def failed(language: Language, what: str, error: str, tried: bool) -> str:
    """A call failed for good."""
    reason = error.strip()
    reason = reason if len(reason) <= 400 else f"{reason[:400]}..."
    if language == "zh":
        again = "，改正后重试仍然失败" if tried else ""
        return f"{what} 没有成功{again}：{reason}"
    again = ", also after I corrected it once" if tried else ""
    return f"{what} failed{again}: {reason}"


def not_allowed(language: Language) -> str:
    """The program forbids calls in this reply."""
    if language == "zh":
        return "这次不允许调用工具，而我自己不会回答问题。"
    return "Calling tools is switched off for this reply, and I know nothing by myself."
