"""Models of every vendor, what a request and a reply are made of, and models found on this machine."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.errors import ModelError as ModelError
    from toolkeel.errors import model_error as model_error
    from toolkeel.model_interface import CallDelta as CallDelta
    from toolkeel.model_interface import Finish as Finish
    from toolkeel.model_interface import Model as Model
    from toolkeel.model_interface import ModelRequest as ModelRequest
    from toolkeel.model_interface import OutputFormat as OutputFormat
    from toolkeel.model_interface import ReasoningDelta as ReasoningDelta
    from toolkeel.model_interface import RetryDelta as RetryDelta
    from toolkeel.model_interface import Settings as Settings
    from toolkeel.model_interface import TextDelta as TextDelta
    from toolkeel.model_interface import ToolDefinition as ToolDefinition
    from toolkeel.providers.anthropic.model import AnthropicMessages as AnthropicMessages
    from toolkeel.providers.bedrock.model import BedrockConverse as BedrockConverse
    from toolkeel.providers.default_model import choose as choose
    from toolkeel.providers.discover import LocalModel as LocalModel
    from toolkeel.providers.discover import Server as Server
    from toolkeel.providers.discover import find_servers as find_servers
    from toolkeel.providers.gemini.model import Gemini as Gemini
    from toolkeel.providers.model_by_name import connect as connect
    from toolkeel.providers.offline.model import Offline as Offline
    from toolkeel.providers.openai_chat.model import OpenAIChat as OpenAIChat
    from toolkeel.providers.openai_responses.model import OpenAIResponses as OpenAIResponses
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.errors": "ModelError model_error",
            "toolkeel.model_interface": "CallDelta Finish Model ModelRequest OutputFormat ReasoningDelta RetryDelta Settings TextDelta ToolDefinition",
            "toolkeel.providers.anthropic.model": "AnthropicMessages",
            "toolkeel.providers.default_model": "choose",
            "toolkeel.providers.bedrock.model": "BedrockConverse",
            "toolkeel.providers.model_by_name": "connect",
            "toolkeel.providers.discover": "LocalModel Server find_servers",
            "toolkeel.providers.gemini.model": "Gemini",
            "toolkeel.providers.offline.model": "Offline",
            "toolkeel.providers.openai_chat.model": "OpenAIChat",
            "toolkeel.providers.openai_responses.model": "OpenAIResponses",
        },
    )
