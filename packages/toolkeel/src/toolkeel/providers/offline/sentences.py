"""The offline model's own sentences, in two languages."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.lexicon import Language
from toolkeel.providers.offline.parameters import Parameter

NOTE: dict[Language, str] = {
    "en": "offline model (rules only, no weights):",
    "zh": "离线模型（只有规则，没有权重）：",
}
"""First line of every answer: it is not a language model."""

_SHOWN = 5
_NO_TOOLS = {
    "en": "I cannot answer by myself, I only call tools, and I was given none.",
    "zh": "我自己不会回答问题，只会调用工具，而这里没有给我任何工具。",
}
_NOT_ALLOWED = {
    "en": "Calling tools is switched off for this reply, and I know nothing by myself.",
    "zh": "这次不允许调用工具，而我自己不会回答问题。",
}
_NO_FIT = {
    "en": "None of my tools fits that. What I have:",
    "zh": "没有合适的工具能回答这个问题。我可以使用：",
}
_HELLO = {
    "en": "Hello! Ask me for something these tools can do:",
    "zh": "你好！我可以使用这些工具：",
}


def no_tools(language: Language) -> str:
    """Return the sentence that there is nothing to call."""
    return _NO_TOOLS[language]


def calls_forbidden(language: Language) -> str:
    """Return the sentence that the program forbids calls in this reply."""
    return _NOT_ALLOWED[language]


def no_fit(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """Return the sentence that no tool fits, with the list of tools."""
    return f"{_NO_FIT[language]}\n{_list(language, tools)}"


def hello(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """Return a greeting with the list of tools."""
    return f"{_HELLO[language]}\n{_list(language, tools)}"


def ask_for(language: Language, tool: ToolDefinition, missing: Sequence[Parameter]) -> str:
    """Return a question for missing arguments, by name."""
    if language == "zh":
        names = "、".join(_describe(one, "（", "）") for one in missing)
        return f"要使用 {tool.name}，我还需要：{names}。请告诉我。"
    names = ", ".join(_describe(one, " (", ")") for one in missing)
    return f"To use {tool.name} I need: {names}. Please tell me."


def failed(language: Language, call: str, error: str, corrected: bool) -> str:
    """Return the sentence that a call failed, with its error, and if its correction failed too."""
    reason = error.strip()
    reason = reason if len(reason) <= 400 else f"{reason[:400]}..."
    if language == "zh":
        again = "，改正后重试仍然失败" if corrected else ""
        return f"{call} 没有成功{again}：{reason}"
    again = ", also after I corrected it once" if corrected else ""
    return f"{call} failed{again}: {reason}"


def _list(language: Language, tools: Sequence[ToolDefinition]) -> str:
    """Return tools as lines with their first sentence; those beyond the limit only counted."""
    lines = [f"- {tool.name}: {_first_sentence(tool.description)}" for tool in tools[:_SHOWN]]
    if len(tools) > _SHOWN:
        rest = len(tools) - _SHOWN
        lines.append(f"- 以及另外 {rest} 个" if language == "zh" else f"- and {rest} more")
    return "\n".join(line.rstrip(" :") for line in lines)


def _first_sentence(text: str | None) -> str:
    """Return the first sentence of a text, at most 160 characters; empty without a text."""
    line = (text or "").strip().split("\n", 1)[0]
    end = min((i for i in (line.find(". "), line.find("。")) if i >= 0), default=len(line))
    return line[: end + 1].strip()[:160]


def _describe(parameter: Parameter, opening: str, closing: str) -> str:
    """Return a parameter's name, with its description between `opening` and `closing`."""
    about = _first_sentence(parameter.description).rstrip(".。")
    return f"{parameter.name}{opening}{about}{closing}" if about else parameter.name
